/** A program that sends a request: curl, Python, TypeScript. The key comes from the environment. */

/** A JSON value as a Python literal. */
function python(value, indent = '') {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value !== 'object') return JSON.stringify(value);
  const inner = `${indent}    `;
  const [open, items, close] = Array.isArray(value)
    ? ['[', value.map((each) => python(each, inner)), ']']
    : [
        '{',
        Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${python(each, inner)}`),
        '}',
      ];
  return items.length === 0
    ? open + close
    : `${open}\n${inner}${items.join(`,\n${inner}`)},\n${indent}${close}`;
}

function curl({ url, body, keyed }) {
  const key = keyed ? ` -H "X-API-Key: $FUSEGATE_API_KEY"` : '';
  return `curl -s ${url} -H 'Content-Type: application/json'${key} --data-binary @- <<'JSON'
${JSON.stringify(body, null, 2)}
JSON
`;
}

function pythonProgram({ url, body, keyed }) {
  const key = keyed ? '    headers={"X-API-Key": os.environ["FUSEGATE_API_KEY"]},\n' : '';
  return `${keyed ? 'import os\n\n' : ''}import requests

response = requests.post(
    ${JSON.stringify(url)},
${key}    json=${python(body, '    ')},
    timeout=30,
)
response.raise_for_status()
for result in response.json()["results"]:
    print(result["rank"], result["id"], result["fused_score"])
`;
}

function typescript({ url, body, keyed }) {
  const key = keyed ? ", 'X-API-Key': process.env.FUSEGATE_API_KEY ?? ''" : '';
  return `const response = await fetch(${JSON.stringify(url)}, {
  method: 'POST',
  headers: { 'Content-Type': 'application/json'${key} },
  body: JSON.stringify(${JSON.stringify(body, null, 2).replaceAll('\n', '\n  ')}),
});
if (!response.ok) throw new Error(await response.text());
const { results } = (await response.json()) as {
  results: { id: string; rank: number; fused_score: number }[];
};
for (const { rank, id, fused_score } of results) console.log(rank, id, fused_score);
`;
}

const programs = { curl, python: pythonProgram, typescript };

/** The program in a language: `url` and `body` of the request, `keyed`: true if it sends an API key. */
export function programOf(language, request) {
  return programs[language](request);
}
