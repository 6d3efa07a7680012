import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Whether this machine drops forwarded packets that no rule lets through, traffic between containers included. */
export async function dropsForwarded(): Promise<boolean> {
  try {
    const { stdout } = await promisify(execFile)('iptables', ['--wait', '--list-rules', 'FORWARD']);
    return stdout.startsWith('-P FORWARD DROP');
  } catch {
    return false; // no firewall that we could ask
  }
}
