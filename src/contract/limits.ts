/** The limits that the route table and the request types state. */
import type { BodyLimit, FieldLimit } from './info.js';
import { routeList } from './routes.js';
import { type Shape, shapeNamed } from './shape.js';

/** The body limit of every route that takes one. */
export function bodyLimits(): BodyLimit[] {
  return routeList.flatMap(({ id, method, path, body }) =>
    body.kind === 'none' ? [] : [{ route: id, method, path, max_body_bytes: body.limit }],
  );
}

const finite = (name: keyof FieldLimit, value: number, none: number): Partial<FieldLimit> =>
  value === none ? {} : { [name]: value };

/** The bounds that a shape itself states. */
function bounds(shape: Shape): Omit<FieldLimit, 'request' | 'field'> {
  switch (shape.kind) {
    case 'string':
      return { ...finite('min_chars', shape.min, 0), ...finite('max_chars', shape.max, Infinity) };
    case 'integer':
    case 'number':
      return { ...finite('minimum', shape.min, -Infinity), ...finite('maximum', shape.max, Infinity) };
    case 'list':
      return { ...finite('min_items', shape.min, 0), ...finite('max_items', shape.max, Infinity) };
    default:
      return {};
  }
}

function walk(request: string, field: string, shape: Shape): FieldLimit[] {
  const own = bounds(shape);
  const here = Object.keys(own).length === 0 ? [] : [{ request, field, ...own }];
  if (shape.kind === 'list') return [...here, ...walk(request, `${field}[]`, shape.items)];
  if (shape.kind !== 'object') return here;
  const prefix = field === '' ? '' : `${field}.`;
  return shape.fields.flatMap((inner) => walk(request, `${prefix}${inner.name}`, inner.shape));
}

/** Every bound on a field of a request or on a parameter, in the order of the route table. */
export function fieldLimits(): FieldLimit[] {
  const names = routeList.flatMap(({ body, parameters }) => [
    ...('schema' in body ? [body.schema] : []),
    ...Object.values(parameters),
  ]);
  return [...new Set(names)].flatMap((name) => walk(name, '', shapeNamed(name)));
}
