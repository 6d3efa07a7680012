import semver from 'semver';

/** The newest release of each old line that ends a defect we would notice. */
const DEFECTS: readonly { readonly line: string; readonly before: string; readonly defect: string }[] = [
  { line: '3.4', before: '3.4.25', defect: 'a watch can go back in time after a snapshot' },
  { line: '3.4', before: '3.4.31', defect: 'a watch can lose events when the store is compacted' },
  { line: '3.4', before: '3.4.36', defect: 'a watch can miss a delete' },
  { line: '3.4', before: '3.4.38', defect: 'a revoked lease can be reported as extended' },
  { line: '3.4', before: '3.4.42', defect: 'access rules can be bypassed (CVE-2026-33413, CVE-2026-33343)' },
  { line: '3.5', before: '3.5.8', defect: 'progress of a watch can be reported ahead of its events' },
  { line: '3.5', before: '3.5.13', defect: 'a watch can lose events when the store is compacted' },
];

const OLDEST_SUPPORTED = '3.4.0';

/** What is known to be wrong with a version of etcd, in one sentence; undefined when nothing is. */
export function versionWarning(version: string): string | undefined {
  if (!semver.valid(version)) return `etcd says that its version is "${version}", which cannot be read`;
  if (semver.lt(version, OLDEST_SUPPORTED))
    return `etcd ${version} is older than ${OLDEST_SUPPORTED}, the oldest supported`;
  const known = DEFECTS.filter(({ line, before }) => version.startsWith(`${line}.`) && semver.lt(version, before));
  if (known.length === 0) return undefined;
  return `etcd ${version} has known defects: ${known.map(({ defect }) => defect).join('; ')}. Use the newest 3.5 or 3.6`;
}
