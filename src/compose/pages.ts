/** The pages of a server, depending on what each of its addresses serves. */
import type { Configuration } from '../configuration.js';
import type { Handlers } from '../contract/routes.js';
import { describedDoor } from '../receipts/openapi.js';
import { describedGateway, openapi } from '../info/openapi.js';
import { docsHandlers, guidesAlone, type DocsHandlers } from '../pages/docs.js';
import { doorLinks, gatewayLinks, pageMaker, type PageMaker } from '../pages/page.js';

/** Makes the gateway's pages, with links to what its address serves. */
export function gatewayPage({ operator, doorPort, serve }: Configuration): PageMaker {
  const links = gatewayLinks({
    explores: doorPort === null && serve.includes('explore'),
    sells: serve.includes('checkout'),
  });
  return pageMaker(operator, links);
}

/** Makes the door's pages: the gateway's, unless the door has its own address. */
export function doorPage({ operator, doorPort }: Configuration, page: PageMaker): PageMaker {
  return doorPort === null ? page : pageMaker(operator, doorLinks);
}

/** The guides of a door with its own address, without a reference to link to. */
export function doorGuides({ operator }: Configuration): Pick<Handlers, 'docsGuide'> {
  return guidesAlone(pageMaker(operator, doorLinks));
}

/**
 * The gateway's document, and the reference of both parts; forms cannot post to a door at another address.
 */
export function referencePages(
  { doorPort, publicDoorUrl, serve }: Configuration,
  page: PageMaker,
): DocsHandlers & Pick<Handlers, 'openapi'> {
  const gateway = describedGateway(serve, doorPort === null ? '' : publicDoorUrl);
  const elsewhere = doorPort === null ? null : (publicDoorUrl ?? `port ${doorPort} of this host`);
  const door = describedDoor('/', serve);
  return { openapi: openapi(gateway), ...docsHandlers({ gateway, door, doorAddress: elsewhere, page }) };
}
