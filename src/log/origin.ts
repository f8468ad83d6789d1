/** The log's name, the first line of its checkpoints. */

/** The name of a log whose address is not configured. */
const unnamed = 'fusegate.invalid';

/** The settings that name the door. */
export interface DoorUrls {
  readonly publicDoorUrl: string | null;
  readonly publicUrl: string | null;
  /** Port of the door where it has one of its own. */
  readonly doorPort: number | null;
}

/** Host and path of the door's public address, without scheme and last slash. */
export function originOf({ publicDoorUrl, publicUrl, doorPort }: DoorUrls): string {
  const url = publicDoorUrl ?? (doorPort === null ? publicUrl : null);
  if (url === null) return unnamed;
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`.replace(/\/$/, '');
}
