/** Small changes of a built file, each of which some test should notice, by TypeScript's parser. */
import ts from 'typescript';

/** A change of a text: `from` up to `to` becomes `text`. */
export interface Mutation {
  readonly from: number;
  readonly to: number;
  readonly text: string;
  /** A place that runs where the change matters. */
  readonly reached: number;
}

const { SyntaxKind: Kind } = ts;

/** Operators and those put in their places. */
const operators: Readonly<Partial<Record<ts.SyntaxKind, readonly string[]>>> = {
  [Kind.LessThanToken]: ['<=', '>='],
  [Kind.LessThanEqualsToken]: ['<', '>'],
  [Kind.GreaterThanToken]: ['>=', '<='],
  [Kind.GreaterThanEqualsToken]: ['>', '<'],
  [Kind.EqualsEqualsEqualsToken]: ['!=='],
  [Kind.ExclamationEqualsEqualsToken]: ['==='],
  [Kind.PlusToken]: ['-'],
  [Kind.MinusToken]: ['+'],
  [Kind.AsteriskToken]: ['/'],
  [Kind.SlashToken]: ['*'],
  [Kind.PercentToken]: ['*'],
  [Kind.AmpersandToken]: ['|'],
  [Kind.BarToken]: ['&'],
  [Kind.CaretToken]: ['&'],
  [Kind.LessThanLessThanToken]: ['>>'],
  [Kind.GreaterThanGreaterThanToken]: ['<<'],
  [Kind.PlusEqualsToken]: ['-='],
  [Kind.MinusEqualsToken]: ['+='],
  [Kind.QuestionQuestionEqualsToken]: ['='],
};

/** Methods and those put in their places; undefined: what they were called on. */
const methods: Readonly<Record<string, string | undefined>> = {
  some: 'every',
  every: 'some',
  min: 'max',
  max: 'min',
  floor: 'ceil',
  ceil: 'floor',
  startsWith: 'endsWith',
  endsWith: 'startsWith',
  filter: undefined,
  slice: undefined,
  sort: undefined,
  toSorted: undefined,
  reverse: undefined,
  trim: undefined,
  toLowerCase: undefined,
  finally: undefined,
};

/** A text for people: nobody has to notice another word in it. */
function isProse(text: string): boolean {
  return /\s/.test(text);
}

function isText(node: ts.Expression): boolean {
  return ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);
}

/** Names and labels: text that nothing computes with. */
function isName(node: ts.StringLiteral): boolean {
  const { parent } = node;
  return ts.isImportDeclaration(parent) || ts.isExportDeclaration(parent) || ts.isPropertyAssignment(parent)
    ? parent.getChildAt(0) === node || !ts.isPropertyAssignment(parent)
    : ts.isExpressionStatement(parent);
}

/** Operators of which one side alone is tried: a condition that is left out. */
const joining: ReadonlySet<ts.SyntaxKind> = new Set([
  Kind.AmpersandAmpersandToken,
  Kind.BarBarToken,
  Kind.QuestionQuestionToken,
]);

function ofBinary(node: ts.BinaryExpression, at: (node: ts.Node, text: string) => Mutation): Mutation[] {
  const token = node.operatorToken;
  if (joining.has(token.kind)) return [node.left, node.right].map((side) => at(node, side.getText()));
  const joins = token.kind === Kind.PlusToken && (isText(node.left) || isText(node.right));
  return joins ? [] : (operators[token.kind] ?? []).map((text) => at(token, text));
}

function ofCall(node: ts.CallExpression, at: (node: ts.Node, text: string) => Mutation): Mutation[] {
  const { expression } = node;
  if (!ts.isPropertyAccessExpression(expression) || !Object.hasOwn(methods, expression.name.text)) return [];
  const other = methods[expression.name.text];
  return [other === undefined ? at(node, expression.expression.getText()) : at(expression.name, other)];
}

/** The condition of a node that goes one way or another. */
function conditionOf(node: ts.Node): ts.Expression | undefined {
  if (ts.isIfStatement(node) || ts.isWhileStatement(node)) return node.expression;
  return ts.isConditionalExpression(node) || ts.isForStatement(node) ? node.condition : undefined;
}

function ofCondition(node: ts.Node, at: (node: ts.Node, text: string) => Mutation): Mutation[] {
  const condition = conditionOf(node);
  if (condition === undefined || condition.kind === Kind.TrueKeyword) return [];
  const loops = ts.isWhileStatement(node) || ts.isForStatement(node);
  return (loops ? ['false'] : ['true', 'false']).map((text) => at(condition, text));
}

function ofStatement(node: ts.Statement, at: (node: ts.Node, text: string) => Mutation): Mutation[] {
  const does = ts.isExpressionStatement(node) && !ts.isStringLiteral(node.expression);
  const leaves = ts.isThrowStatement(node) || ts.isBreakStatement(node) || ts.isContinueStatement(node);
  const ends = ts.isReturnStatement(node) && node.expression === undefined;
  return does || leaves || ends ? [at(node, ';')] : [];
}

/** A number beside it; of a large one, which is seldom met exactly, twice as much. */
function otherNumber(value: number): number {
  return value < 1_000 ? value + 1 : value * 2;
}

/** The assignment of a parameter to the property of its name, as the compiler writes it for constructors. */
function keepsParameter({ expression }: ts.ExpressionStatement): boolean {
  if (!ts.isBinaryExpression(expression) || !ts.isIdentifier(expression.right)) return false;
  return expression.left.getText() === `this.${expression.right.text}`;
}

/** Two calls, one after the other, in the other order. */
function ofBlock(node: ts.Block, at: (node: ts.Node, text: string) => Mutation): Mutation[] {
  const acts = (each: ts.Statement | undefined): each is ts.ExpressionStatement =>
    each !== undefined &&
    ts.isExpressionStatement(each) &&
    !ts.isStringLiteral(each.expression) &&
    !keepsParameter(each);
  return node.statements.flatMap((first, index) => {
    const second = node.statements[index + 1];
    if (!acts(first) || !acts(second)) return [];
    return [{ ...at(first, `${second.getText()} ${first.getText()}`), to: second.end }];
  });
}

/** What a log line carries: it is for people, as prose is. */
function isLogged(node: ts.Node): boolean {
  const call = node.parent;
  if (!ts.isCallExpression(call)) return false;
  return /\blog\.(debug|info|warn|error|fatal)$/.test(call.expression.getText());
}

/** Members of an object and elements of a list, each left out; a member that is undefined is so anyway. */
function ofMembers(members: readonly ts.Node[], at: (node: ts.Node, text: string) => Mutation): Mutation[] {
  return members.flatMap((each, index) => {
    if (ts.isPropertyAssignment(each) && each.initializer.getText() === 'undefined') return [];
    const next = members[index + 1];
    return [{ ...at(each, ''), ...(next === undefined ? {} : { to: next.getStart() }) }];
  });
}

function ofNode(node: ts.Node, at: (node: ts.Node, text: string) => Mutation): Mutation[] {
  if (ts.isBinaryExpression(node)) return ofBinary(node, at);
  if (ts.isCallExpression(node)) return ofCall(node, at);
  if (ts.isAwaitExpression(node)) return [at(node, `(${node.expression.getText()})`)];
  if (ts.isPrefixUnaryExpression(node) && node.operator === Kind.ExclamationToken) {
    return [at(node, `(${node.operand.getText()})`)];
  }
  if (node.kind === Kind.TrueKeyword) return [at(node, 'false')];
  if (node.kind === Kind.FalseKeyword) return [at(node, 'true')];
  if (ts.isNumericLiteral(node)) return [at(node, String(otherNumber(Number(node.text))))];
  if (ts.isBigIntLiteral(node)) return [at(node, `${BigInt(node.text.slice(0, -1)) + 1n}n`)];
  if (ts.isBlock(node)) return ofBlock(node, at);
  if (ts.isObjectLiteralExpression(node)) return isLogged(node) ? [] : ofMembers(node.properties, at);
  if (ts.isArrayLiteralExpression(node)) return ofMembers(node.elements, at);
  if (ts.isStringLiteral(node)) return isProse(node.text) || isName(node) ? [] : [at(node, "'mutated'")];
  return [...ofCondition(node, at), ...(ts.isStatement(node) ? ofStatement(node, at) : [])];
}

/** Every mutation of a built file's text, in the order of their places. */
export function mutationsOf(text: string): Mutation[] {
  const source = ts.createSourceFile('built.js', text, ts.ScriptTarget.ES2022, true, ts.ScriptKind.JS);
  const found: Mutation[] = [];
  const at = (node: ts.Node, changed: string): Mutation => {
    const from = node.getStart(source);
    // An operator's own place counts as its right side, which may not run.
    const reached = ts.isBinaryExpression(node.parent) ? node.parent.getStart(source) : from;
    return { from, to: node.end, text: changed, reached };
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) return;
    found.push(...ofNode(node, at));
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found.sort((left, right) => left.from - right.from);
}

/** The text with a mutation in it. */
export function mutated(text: string, { from, to, text: changed }: Omit<Mutation, 'reached'>): string {
  return text.slice(0, from) + changed + text.slice(to);
}

/** At most so many of a list, spread over it. */
export function spread<Each>(list: readonly Each[], most: number): readonly Each[] {
  const step = Math.max(1, list.length / most);
  return list.filter((_, at) => Math.floor(at / step) !== Math.floor((at - 1) / step));
}
