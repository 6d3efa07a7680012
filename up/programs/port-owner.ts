import { readdir, readFile, readlink } from 'node:fs/promises';

const LISTENING = '0A';

/**
 * Whether the process with this id itself listens on the port, so that a server found there is not some other one.
 * Where the kernel offers no `/proc`, this cannot be determined, and the answer is yes.
 */
export async function ownsPort(pid: number, port: number): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  const listening = await listenersOn(port);
  const folder = `/proc/${pid}/fd`;
  const handles = await readdir(folder).catch(() => []);
  const links = await Promise.all(handles.map(handle => readlink(`${folder}/${handle}`).catch(() => '')));
  return links.some(link => listening.has(link));
}

/** The sockets that listen on a port, as `/proc` names them. */
async function listenersOn(port: number): Promise<Set<string>> {
  const tables = await Promise.all(
    ['/proc/net/tcp', '/proc/net/tcp6'].map(path => readFile(path, 'utf8').catch(() => '')),
  );
  const wanted = port.toString(16).toUpperCase().padStart(4, '0');
  const sockets = new Set<string>();
  for (const line of tables.join('\n').split('\n')) {
    const columns = line.trim().split(/\s+/);
    if (columns[1]?.endsWith(`:${wanted}`) && columns[3] === LISTENING) sockets.add(`socket:[${columns[9]}]`);
  }
  return sockets;
}
