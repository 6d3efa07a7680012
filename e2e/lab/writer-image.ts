import { pushImage, readBusybox } from '../../dev/processes/index.js';

/** Where a container keeps what it has acknowledged: on its own file system, outside of the volume. */
export const ACKNOWLEDGED = '/tmp/acknowledged';

/** Appends numbered records to a file of the volume, and acknowledges each that is on the disk. */
const WRITE = `#!/bin/sh
trap 'exit 0' TERM INT
: >> /data/records
awk '$1 != NR { broken = 1 } END { print "found", NR, broken ? "broken" : "whole" }' /data/records >> ${ACKNOWLEDGED}
n=$(tail -n 1 ${ACKNOWLEDGED} | cut -d ' ' -f 2)
writer=$(cat /proc/sys/kernel/random/uuid)
while sleep 0.02; do
  n=$((n + 1))
  echo "$n $writer" | dd of=/data/records oflag=append conv=notrunc,fsync status=none || exit 1
  read -r up idle < /proc/uptime
  echo "stored $n $up" >> ${ACKNOWLEDGED}
done
`;
const TOOLS = ['sh', 'awk', 'cat', 'cut', 'dd', 'echo', 'sleep', 'tail'];

/** Puts a writer of numbered records into a registry. Answers the reference. */
export async function buildWriterImage(registry: string): Promise<string> {
  const entries = [
    { path: 'bin/', mode: 0o755, folder: true },
    { path: 'bin/busybox', mode: 0o755, bytes: await readBusybox() },
    ...TOOLS.map(tool => ({ path: `bin/${tool}`, linkTo: 'busybox' })),
    { path: 'bin/write', mode: 0o755, bytes: Buffer.from(WRITE) },
    { path: 'tmp/', mode: 0o1777, folder: true },
  ] as const;
  return pushImage(registry, {
    name: 'mooring/writer',
    tag: '1',
    entries,
    config: { Cmd: ['/bin/write'], Env: ['PATH=/bin'] },
  });
}
