/** `GET /how` (contract, Exploration): how to use the door, for whoever comes to it without knowing it. */
import { prefers } from '../contract/accept.js';
import { jsonAnswer } from '../contract/answer.js';
import type { Answer, Handler } from '../contract/exchange.js';
import { how } from '../contract/how.js';

const markdown = `# How to use the fragment door\n\n${how.steps
  .map((step, index) => `${index + 1}. ${step}\n`)
  .join('')}\nContract version ${how.contract_version}.\n`;

/** Tells how, as JSON or as Markdown. */
export function tellHow(): Handler {
  const vary = { vary: 'Accept' };
  const asJson: Answer = { ...jsonAnswer(200, how), headers: vary };
  const asMarkdown: Answer = {
    status: 200,
    body: { bytes: markdown, type: 'text/markdown; charset=utf-8' },
    headers: vary,
    charge: 0,
  };
  return (request) => (prefers(request.header('accept'), 'text/markdown') ? asMarkdown : asJson);
}
