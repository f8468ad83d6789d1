/** The log's name, the first line of its checkpoints. */

/** The name of a log without a configured address. */
const unnamed = 'fusegate.invalid';

/** The settings with the door's address. */
export interface DoorUrls {
  readonly publicDoorUrl: string | null;
  readonly publicUrl: string | null;
  /** Port of the door if it has its own. */
  readonly doorPort: number | null;
}

/** Host and path of the door's public address, without scheme and trailing slash. */
export function originOf({ publicDoorUrl, publicUrl, doorPort }: DoorUrls): string {
  const url = publicDoorUrl ?? (doorPort === null ? publicUrl : null);
  if (url === null) return unnamed;
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`.replace(/\/$/, '');
}
