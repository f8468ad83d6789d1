/** The machine for compiled modules: C library, system and processor. */

/** The glibc version of this process; undefined: another C library, or another system. */
function glibcVersion(): string | undefined {
  const report = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  return report.header?.glibcVersionRuntime;
}

/** The C library and its version, if Node's report names them. */
export function cLibrary(): string {
  const version = glibcVersion();
  if (version !== undefined) return `glibc ${version}`;
  return process.platform === 'linux' ? 'a C library other than glibc (musl?)' : process.platform;
}

/** The package with the native module for a system and processor. */
export function prebuiltPackage(platform: string, arch: string): string {
  return `@fusegate/${platform}-${arch}${platform === 'linux' ? '-gnu' : ''}`;
}
