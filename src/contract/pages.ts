/** The reference page and the files of pages. */
import typia from 'typia';
import { html, information, read, type ResourceRoutes } from './route.js';
import { getOther } from './schema/route.js';
import { wireTypes } from './schema/wireType.js';

/** Path of one of the pages' files. */
export interface PageFilePath {
  file: string;
}

/** Query of the reference. */
export interface DocsQuery {
  /** Words to look for in the reference and the guides. */
  q?: string;
}

/** Path of an operation's page. */
export interface DocsOperationPath {
  operation: string;
}

/** Path of a guide's page. */
export interface DocsGuidePath {
  guide: string;
}

const [docsQueryType, docsOperationPathType, docsGuidePathType, pageFilePathType] = wireTypes(
  typia.json.schemas<[DocsQuery, DocsOperationPath, DocsGuidePath, PageFilePath]>(),
);

/** The reference page and the files of pages. */
export const pageRoutes = {
  docs: {
    ...information,
    path: '/docs',
    summary: 'The reference as a page',
    description: 'Lists every operation and guide, and searches them.',
    parameters: { query: docsQueryType },
    unprocessable: true,
    answers: { 200: { type: html, description: 'The page.' } },
    cors: false,
    ...read,
    example: getOther('/docs', html),
  },
  docsOperation: {
    ...information,
    path: '/docs/api/{operation}',
    summary: 'An operation as a page',
    description: 'Shows one operation of either description and sends requests from the browser.',
    parameters: { path: docsOperationPathType },
    reads: ['accept'],
    answers: { 200: { type: html, description: 'The page.' } },
    cors: false,
    documented: false,
    ...read,
    example: getOther('/docs/api/fuse', html),
  },
  docsGuide: {
    ...information,
    path: '/docs/guides/{guide}',
    summary: 'A guide as a page',
    description: 'Shows one guide.',
    everywhere: true,
    parameters: { path: docsGuidePathType },
    reads: ['accept'],
    answers: { 200: { type: html, description: 'The page.' } },
    cors: false,
    documented: false,
    ...read,
    example: getOther('/docs/guides/fuse', html),
  },
  pageFile: {
    ...information,
    path: '/pages/{file}',
    summary: 'Files of the pages',
    description: 'Scripts, styles and images of the pages.',
    everywhere: true,
    parameters: { path: pageFilePathType },
    answers: { 200: { type: 'text/css; charset=utf-8', description: 'The file.' } },
    cors: false,
    documented: false,
    ...read,
    example: getOther('/pages/site.css', 'text/css; charset=utf-8'),
  },
} as const satisfies ResourceRoutes;
