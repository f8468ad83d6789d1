/** The reference page and the files of pages. */
import typia from 'typia';
import { html, information, read, type ResourceRoutes } from './route.js';
import { getOther } from './schema/route.js';
import { wireTypes } from './schema/wireType.js';

/** Path of one of the pages' files. */
export interface PageFilePath {
  file: string;
}

/** Path of one of the reference page's files. */
export interface DocsPath {
  file: string;
}

const [docsPathType, pageFilePathType] = wireTypes(typia.json.schemas<[DocsPath, PageFilePath]>());

/** The reference page and the files of pages. */
export const pageRoutes = {
  docs: {
    ...information,
    path: '/docs',
    summary: 'The reference as a page',
    description: 'Shows this description and sends requests from the browser.',
    answers: { 200: { type: html, description: 'The page.' } },
    cors: false,
    ...read,
    example: getOther('/docs', html),
  },
  docsFile: {
    ...information,
    path: '/docs/{file}',
    summary: 'Files of the reference page',
    description: 'Scripts and styles of the reference page.',
    parameters: { path: docsPathType },
    answers: { 200: { type: 'text/javascript; charset=utf-8', description: 'The file.' } },
    cors: false,
    documented: false,
    ...read,
    example: getOther('/docs/start.js', 'text/javascript; charset=utf-8'),
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
