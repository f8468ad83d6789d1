/** Draws the graph of fragments (sigma, graphology). Without this script or WebGL, the lists show it all. */
const picture = document.getElementById('picture');
const canvas = document.getElementById('canvas');
const progress = document.getElementById('progress');
const detail = document.getElementById('detail');
const still = matchMedia('(prefers-reduced-motion: reduce)');
const dark = matchMedia('(prefers-color-scheme: dark)');

/** Most nodes drawn: the newest. */
const most = 10_000;

/** Number of nodes from which edges and labels are hidden while the view moves. */
const many = 2_000;

const legendList = document.getElementById('legend');
const kinds = legendList.dataset.kinds.split(' ');

let colors = {};
let chosen;
let near = new Set();
/** Receipts found by a search; they are emphasized until one is chosen. */
const matches = new Set();
/** The labelled neighbours: the nearest. */
let named = new Set();
let renderer;

/** Reads the colours of the style sheet, which depend on light or dark mode. */
function readColors() {
  const style = getComputedStyle(document.documentElement);
  const value = (name) => style.getPropertyValue(name).trim();
  colors = { ink: value('--ink'), sheet: value('--sheet'), edge: value('--edge'), faint: value('--faint') };
  colors.muted = value('--muted');
  for (const kind of kinds) colors[kind] = value(`--kind-${kind.toLowerCase().replaceAll('_', '-')}`);
}

function shortened(text) {
  const characters = Array.from(text);
  return characters.length > 42 ? `${characters.slice(0, 41).join('')}…` : text;
}

/** A node's label on a background, for the node under the pointer or the chosen one. */
function drawHover(context, { x, y, size, label }, { labelSize, labelFont, labelWeight }) {
  context.font = `${labelWeight} ${labelSize}px ${labelFont}`;
  const width = label ? context.measureText(label).width + 12 : 0;
  context.beginPath();
  context.arc(x, y, size + 3, 0, Math.PI * 2);
  context.lineWidth = 2;
  context.strokeStyle = colors.ink;
  context.stroke();
  if (!label) return;
  context.fillStyle = colors.sheet;
  context.fillRect(x + size + 4, y - labelSize * 0.85, width, labelSize * 1.7);
  context.lineWidth = 1;
  context.strokeRect(x + size + 4, y - labelSize * 0.85, width, labelSize * 1.7);
  context.fillStyle = colors.ink;
  context.fillText(label, x + size + 10, y + labelSize / 3);
}

/** Width of the line around a label, in the background's colour. */
const outline = 4;

/** For the current frame: positions of the dots, and areas covered by labels. */
let dots;
let covered = [];

function findDots() {
  return renderer.getGraph().mapNodes((node) => {
    const data = renderer.getNodeDisplayData(node);
    return { ...renderer.framedGraphToViewport(data), size: renderer.scaleSize(data.size) };
  });
}

/** True if a label in this box would hide no dot and no other label. */
function isFree({ left, top, right, bottom }) {
  const hidden = ({ x, y, size }) => {
    const [aside, above] = [Math.max(left - x, x - right, 0), Math.max(top - y, y - bottom, 0)];
    return aside * aside + above * above < size * size;
  };
  const crossed = (box) => box.left < right && left < box.right && box.top < bottom && top < box.bottom;
  return !dots.some(hidden) && !covered.some(crossed);
}

/** A node's label, readable over lines; beside the node if there is room, otherwise omitted. */
function drawLabel(context, { x, y, size, label }, { labelSize, labelFont, labelWeight }) {
  if (!label || renderer === undefined) return;
  dots ??= findDots();
  context.font = `${labelWeight} ${labelSize}px ${labelFont}`;
  const { width } = context.measureText(label);
  const half = labelSize * 0.6 + outline / 2;
  const starts = [x + size + outline, x - size - outline - width];
  const free = starts
    .map((left) => ({ left, right: left + width, top: y - half, bottom: y + half }))
    .filter(isFree);
  const box = free.find(({ left, right }) => left >= 0 && right <= canvas.clientWidth) ?? free[0];
  if (box === undefined) return;
  covered.push(box);
  context.lineJoin = 'round';
  context.lineWidth = outline;
  context.strokeStyle = colors.sheet;
  context.strokeText(label, box.left, y + labelSize / 3);
  context.fillStyle = colors.ink;
  context.fillText(label, box.left, y + labelSize / 3);
}

/** After a search its matches are emphasized; the first three of them are labelled. */
function matchLook(node, data) {
  if (matches.size === 0) return data;
  if (!matches.has(node)) return { ...data, color: colors.faint, label: null };
  return { ...data, size: data.size + 3, zIndex: 1, forceLabel: [...matches].indexOf(node) < 3 };
}

/** With a chosen fragment, it and its neighbours are emphasized. */
function nodeLook(node, { kind, ...data }) {
  const color = colors[kind] ?? colors.muted;
  if (chosen === undefined) return matchLook(node, { ...data, color });
  if (node === chosen) return { ...data, color, size: data.size + 3, zIndex: 2, highlighted: true };
  if (near.has(node)) return { ...data, color, size: data.size + 1, zIndex: 1, forceLabel: named.has(node) };
  return { ...data, color: colors.faint, label: null };
}

function edgeLook(edge, data, graph) {
  if (chosen === undefined) return { ...data, color: matches.size === 0 ? colors.edge : colors.faint };
  const hidden = !graph.hasExtremity(edge, chosen);
  const color = colors[graph.getNodeAttribute(chosen, 'kind')] ?? colors.muted;
  return { ...data, color, hidden, size: 1.5 };
}

async function readPage(cursor) {
  const query = new URLSearchParams({ limit: '1000', cursor });
  const response = await fetch(`/graph?${query}`, { headers: { accept: 'application/json' } });
  if (!response.ok) throw new Error(`status ${response.status}`);
  return response.json();
}

/** A number in the format of the page. */
const counted = (number) => number.toLocaleString('en');

/** Reads the newest nodes with their edges, page by page. */
async function readGraph(asOf, total) {
  const graph = new graphology.UndirectedGraph();
  let cursor = `${asOf}.${Math.max(0, total - most)}`;
  while (cursor !== null) {
    const page = await readPage(cursor);
    for (const { receipt, title, kind } of page.nodes) {
      graph.addNode(receipt, { label: shortened(title ?? 'withheld'), kind, x: 0, y: 0, size: 3 });
    }
    for (const { from, to, similarity } of page.edges) {
      if (graph.hasNode(to)) graph.addEdge(from, to, { weight: similarity, size: 0.5 });
    }
    cursor = page.next_cursor;
    progress.textContent = `Reading: ${counted(graph.order)} of ${counted(Math.min(total, most))} fragments.`;
  }
  const scale = Math.min(1, Math.max(0.3, 14 / Math.sqrt(graph.order)));
  graph.forEachNode((node) => {
    graph.setNodeAttribute(node, 'size', scale * Math.min(9, 2.5 + Math.sqrt(graph.degree(node))));
  });
  return graph;
}

/** Lays out the nodes; `moved` is called with intermediate positions. Resolves when they rest. */
function layOut(graph, moved) {
  const numbers = new Map(graph.nodes().map((node, index) => [node, index]));
  const links = graph.mapEdges((_, { weight }, source, target) => {
    const [one, other] = [numbers.get(source), numbers.get(target)];
    return { source: Math.max(one, other), target: Math.min(one, other), weight };
  });
  return new Promise((resolve, reject) => {
    const worker = new Worker('/pages/graphLayout.js');
    worker.onerror = () => reject(new Error('the layout failed'));
    worker.onmessage = ({ data: { places, done } }) => {
      moved(places);
      if (!done) return;
      worker.terminate();
      resolve();
    };
    worker.postMessage({ count: graph.order, links, animated: !still.matches });
  });
}

function place(graph, places) {
  let index = 0;
  graph.updateEachNodeAttributes(
    (_, attributes) => {
      const at = index * 2;
      index += 1;
      return { ...attributes, x: places[at], y: places[at + 1] };
    },
    { attributes: ['x', 'y'] },
  );
}

function draw(graph) {
  const large = graph.order > many;
  return new Sigma(graph, canvas, {
    allowInvalidContainer: true,
    defaultDrawNodeHover: drawHover,
    edgeReducer: (edge, data) => edgeLook(edge, data, graph),
    hideEdgesOnMove: large,
    hideLabelsOnMove: large,
    defaultDrawNodeLabel: drawLabel,
    labelDensity: 0.35,
    labelFont: 'system-ui, sans-serif',
    labelGridCellSize: 210,
    labelRenderedSizeThreshold: large ? 2.2 : 4,
    labelSize: 13,
    nodeReducer: nodeLook,
    zIndex: true,
  });
}

function moveTo(graph, node) {
  const at = renderer.getNodeDisplayData(node);
  const camera = renderer.getCamera();
  const state = { x: at.x, y: at.y, ratio: Math.min(camera.ratio, 0.35) };
  if (still.matches) camera.setState(state);
  else camera.animate(state, { duration: 350 });
}

let opener;

/** Puts the open fragment into the URL, so that a link to this page opens it again. */
function remember(receipt) {
  const { pathname, search } = location;
  const hash = receipt === undefined ? '' : `#fragment=${receipt}`;
  history.replaceState(null, '', `${pathname}${search}${hash}`);
}

function close() {
  chosen = undefined;
  remember(undefined);
  near = new Set();
  detail.hidden = true;
  renderer?.refresh({ skipIndexation: true });
  if (opener?.isConnected) opener.focus();
}

/** Shows a fragment in the panel and in the graph. */
async function choose(graph, receipt) {
  if (detail.hidden) opener = document.activeElement;
  remember(receipt);
  chosen = graph?.hasNode(receipt) ? receipt : undefined;
  near = new Set(chosen === undefined ? [] : graph.neighbors(receipt));
  named = new Set();
  renderer?.refresh({ skipIndexation: true });
  if (chosen !== undefined) moveTo(graph, receipt);
  const shown = showDetail(detail, receipt, { choose: (other) => choose(graph, other), close });
  detail.scrollIntoView({ block: 'nearest' });
  const found = await shown;
  if (found === undefined || chosen !== receipt) return;
  const there = found.filter((each) => graph.hasNode(each));
  near = new Set([...near, ...there]);
  named = new Set(there.slice(0, 3));
  renderer.refresh({ skipIndexation: true });
}

function zoom(factor) {
  const camera = renderer.getCamera();
  const ratio = Math.min(4, Math.max(0.01, camera.ratio * factor));
  if (still.matches) camera.setState({ ratio });
  else camera.animate({ ratio }, { duration: 200 });
}

function reset() {
  const camera = renderer.getCamera();
  const state = { x: 0.5, y: 0.5, ratio: 1, angle: 0 };
  if (still.matches) camera.setState(state);
  else camera.animate(state, { duration: 300 });
}

function pan(x, y) {
  const camera = renderer.getCamera();
  const step = 0.12 * camera.ratio;
  camera.setState({ x: camera.x + x * step, y: camera.y + y * step });
}

const keys = {
  ArrowLeft: () => pan(-1, 0),
  ArrowRight: () => pan(1, 0),
  ArrowUp: () => pan(0, 1),
  ArrowDown: () => pan(0, -1),
  '+': () => zoom(0.6),
  '=': () => zoom(0.6),
  '-': () => zoom(1.6),
  0: reset,
};

function listen(graph) {
  document.getElementById('in').addEventListener('click', () => zoom(0.6));
  document.getElementById('out').addEventListener('click', () => zoom(1.6));
  document.getElementById('all').addEventListener('click', reset);
  canvas.addEventListener('keydown', (event) => {
    const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  });
  renderer.on('beforeRender', () => {
    dots = undefined;
    covered = [];
  });
  renderer.on('clickNode', ({ node }) => choose(graph, node));
  renderer.on('clickStage', close);
  renderer.on('enterNode', () => (canvas.style.cursor = 'pointer'));
  renderer.on('leaveNode', () => (canvas.style.cursor = ''));
  dark.addEventListener('change', () => {
    readColors();
    renderer.refresh();
  });
}

function legend(graph) {
  const shown = new Set(graph.mapNodes((_, { kind }) => kind));
  const items = kinds
    .filter((kind) => shown.has(kind))
    .map((kind) => {
      const item = document.createElement('li');
      item.className = kind.toLowerCase().replaceAll('_', '-');
      item.textContent = kind.toLowerCase().replaceAll('_', ' ');
      return item;
    });
  if (shown.has('')) {
    const item = document.createElement('li');
    item.textContent = 'no kind';
    items.push(item);
  }
  legendList.replaceChildren(...items);
}

function listenToLists(graphOf) {
  document.addEventListener('click', (event) => {
    const link = event.target.closest?.('a[data-receipt]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    void choose(graphOf(), link.dataset.receipt);
  });
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && !detail.hidden) close();
  });
}

async function start() {
  const { asOf, total } = picture.dataset;
  let graph;
  listenToLists(() => graph);
  if (document.getElementById('text').value !== '')
    for (const link of document.querySelectorAll('#list a[data-receipt]')) matches.add(link.dataset.receipt);
  const [, opened] = /^#fragment=([\w-]+)$/.exec(location.hash) ?? [];
  if (opened !== undefined) void choose(graph, opened);
  if (Number(total) === 0 || !document.createElement('canvas').getContext('webgl2')) return;
  picture.hidden = false;
  readColors();
  try {
    const read = await readGraph(asOf, Number(total));
    legend(read);
    await layOut(read, (places) => {
      place(read, places);
      if (renderer !== undefined) return;
      graph = read;
      renderer = draw(graph);
      listen(graph);
      // The first frame, drawn on construction, has no labels yet.
      renderer.refresh();
      progress.textContent = 'Placing the fragments …';
    });
    if (opened !== undefined && !detail.hidden) void choose(read, opened);
    const older = Number(total) > most ? `, the newest of ${counted(Number(total))}` : '';
    const found = matches.size === 0 ? '' : ` Search results (${counted(matches.size)}) are highlighted.`;
    progress.textContent = `${counted(read.order)} fragments and ${counted(read.size)} links are drawn${older}.${found}`;
  } catch (error) {
    progress.textContent = `The graph could not be drawn (${error.message}). The lists have it all.`;
  }
}

void start();
