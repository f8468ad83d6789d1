/** The types of the wire that routes name, by their names in the documents. */
import { routeList } from '../../src/contract/routes.js';
import { shapeOf, type Shape } from '../../src/contract/schema/shape.js';
import type { BodyType, WireType } from '../../src/contract/schema/wireType.js';

/** The types of request bodies. */
export const bodyTypes: ReadonlyMap<string, BodyType> = new Map(
  routeList.flatMap(({ body }) => ('schema' in body ? [[body.schema.name, body.schema]] : [])),
);

/** The sets of path, query and header parameters. */
const parameterSets: ReadonlyMap<string, WireType> = new Map(
  routeList.flatMap(({ parameters }) => Object.values(parameters).map((type) => [type.name, type])),
);

function named<Type>(types: ReadonlyMap<string, Type>, name: string): Type {
  const type = types.get(name);
  if (type === undefined) throw new Error(`No route has ${name}`);
  return type;
}

/** The type of a request body. */
export function bodyNamed(name: string): BodyType {
  return named(bodyTypes, name);
}

/** A set of parameters. */
export function parametersNamed(name: string): WireType {
  return named(parameterSets, name);
}

/** The shape of a request body. */
export function bodyShape(name: string): Shape {
  return shapeOf(bodyNamed(name));
}
