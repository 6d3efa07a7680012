import { readFileSync } from 'node:fs';

/** Which process this is, and whether another one of this machine still runs. */
export interface ProcessTable {
  /** Differs from boot to boot, and from machine to machine. */
  readonly boot: string;
  /** Names this process among all that ever ran since the boot. */
  readonly self: string;
  /** Whether a process that was named by `self` since this boot still runs. */
  isRunning(name: string): boolean;
}

/** The processes of this machine, as `/proc` shows them. Undefined where there is none. */
export function readProcessTable(proc = '/proc'): ProcessTable | undefined {
  const pid = String(process.pid);
  try {
    const boot = readFileSync(`${proc}/sys/kernel/random/boot_id`, 'utf8').trim();
    const self = `${pid}:${readStat(proc, pid).startedAt}`;
    return { boot, self, isRunning: name => isRunning(proc, name) };
  } catch {
    return undefined;
  }
}

function isRunning(proc: string, name: string): boolean {
  const [pid = '', startedAt] = name.split(':');
  if (!/^\d+$/.test(pid)) return false;
  try {
    const stat = readStat(proc, pid);
    // A number is given to another process in time, and one that was killed stays until its parent has asked for it.
    return stat.startedAt === startedAt && !'ZX'.includes(stat.state);
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code !== 'ENOENT' && (thrown as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** The state and the start of a process: what follows its name, which may hold spaces and brackets. */
function readStat(proc: string, pid: string): { readonly state: string; readonly startedAt: string } {
  const stat = readFileSync(`${proc}/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0] ?? '', startedAt: fields[19] ?? '' };
}
