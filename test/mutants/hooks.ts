/**
 * Hooks of module loading (Node's documentation, "Customization hooks"): what is imported by a module with a
 * query gets the same query, if it is to be loaded again for every mutant; all else is loaded once.
 */
import type { InitializeHook, ResolveHook } from 'node:module';

/** What the hooks are told. */
export interface HookData {
  /** URLs of the modules that are loaded again. */
  readonly fresh: readonly string[];
  /** URL of what stands in for node:test. */
  readonly testApi: string;
}

let fresh: ReadonlySet<string> = new Set();
let testApi = '';

export const initialize: InitializeHook<HookData> = (data) => {
  fresh = new Set(data.fresh);
  testApi = data.testApi;
};

export const resolve: ResolveHook = async (specifier, context, nextResolve) => {
  if (specifier === 'node:test') return { url: testApi, shortCircuit: true };
  const resolved = await nextResolve(specifier, context);
  const query = /\?.*$/.exec(context.parentURL ?? '')?.[0];
  return query !== undefined && fresh.has(resolved.url)
    ? { ...resolved, url: resolved.url + query }
    : resolved;
};
