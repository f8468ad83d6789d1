/** Lays out the graph's nodes in a worker: forces (d3-force), starting beside linked nodes. */
importScripts('/pages/d3-dispatch.min.js', '/pages/d3-quadtree.min.js', '/pages/d3-timer.min.js');
importScripts('/pages/d3-force.min.js');

/** Angle of the sunflower spiral, on which no two directions are equal. */
const goldenAngle = Math.PI * (3 - Math.sqrt(5));

/** Rounds until the forces rest: fewer if each one is slow. */
const roundsFor = (count) => (count > 4_000 ? 110 : 240);

/** Milliseconds between two updates. */
const every = 400;

/** Places each node beside the earlier one it is linked with; without one, on a spiral. */
function begin(count, links) {
  const parents = new Int32Array(count).fill(-1);
  for (const { source, target } of links) if (parents[source] < 0) parents[source] = target;
  const nodes = [];
  for (let index = 0; index < count; index += 1) {
    const parent = nodes[parents[index]];
    const angle = index * goldenAngle;
    const reach = parent === undefined ? 14 * Math.sqrt(index + 1) : 18;
    nodes.push({
      index,
      x: (parent?.x ?? 0) + reach * Math.cos(angle),
      y: (parent?.y ?? 0) + reach * Math.sin(angle),
    });
  }
  return nodes;
}

function send(nodes, done) {
  const places = new Float32Array(nodes.length * 2);
  nodes.forEach(({ x, y }, index) => places.set([x, y], index * 2));
  postMessage({ places, done }, [places.buffer]);
}

onmessage = ({ data: { count, links, animated } }) => {
  const nodes = begin(count, links);
  const rounds = roundsFor(count);
  const simulation = d3
    .forceSimulation(nodes)
    .stop()
    .alphaDecay(1 - 0.002 ** (1 / rounds))
    .force(
      'links',
      d3
        .forceLink(links)
        .distance(22)
        .strength(({ weight }) => 0.15 + 0.5 * weight),
    )
    .force('apart', d3.forceManyBody().strength(-34).theta(1.1).distanceMax(900))
    .force('x', d3.forceX().strength(0.02))
    .force('y', d3.forceY().strength(0.03));
  if (animated) send(nodes, false);
  let sent = Date.now();
  for (let round = 0; round < rounds; round += 1) {
    simulation.tick();
    if (animated && Date.now() - sent > every) {
      send(nodes, false);
      sent = Date.now();
    }
  }
  send(nodes, true);
};
