import { isPinned, parseImageReference } from '../../../crds/grammar/index.js';
import type { Conversion } from './compose.js';
import { type ConversionNote, convertService } from './service.js';
import { type ComposeMap, escapeVariables, isMap, show } from './values.js';

/** Converts the containers in what `docker inspect` printed. Undefined where there is none. */
export function convertInspection(given: unknown): Conversion | undefined {
  const inspected = (Array.isArray(given) ? given : [given]).filter(isMap);
  const containers = inspected.filter(each => isMap(each['HostConfig']) && typeof each['Name'] === 'string');
  if (containers.length === 0) return undefined;
  const notes: ConversionNote[] = [];
  const documents = containers.flatMap((container): readonly ComposeMap[] => {
    const name = show(container['Name']).replace(/^\//, '');
    const image = inspected.find(each => each !== container && each['Id'] === container['Image']);
    if (!image) notes.push({ field: `${name}.image`, message: UNKNOWN_IMAGE });
    const converted = convertService(name, escapeVariables(toService(container, image)) as ComposeMap);
    notes.push(
      ...converted.notes.map(note => ({ ...note, field: note.field === '' ? name : `${name}.${note.field}` })),
    );
    return converted.document ? [converted.document] : [];
  });
  return { documents, notes };
}

const UNKNOWN_IMAGE =
  'what the image itself sets is written too; inspect it as well, and it is left out: docker inspect NAME IMAGE | moor init --inspect -';

/** A container as a service of a compose file, without what its image brings. */
function toService(container: ComposeMap, image: ComposeMap | undefined): ComposeMap {
  const [own, host] = [readMap(container, 'Config'), readMap(container, 'HostConfig')];
  const brought = image ? readMap(image, 'Config') : undefined;
  const isOwn = (field: string) => !brought || show(own[field] ?? null) !== show(brought[field] ?? null);
  const isStartedOtherwise = isOwn('Entrypoint');
  return dropEmpty({
    image: nameImage(show(own['Image']), image),
    entrypoint: isStartedOtherwise && own['Entrypoint'],
    command: (isStartedOtherwise || isOwn('Cmd')) && own['Cmd'],
    environment: readList(own, 'Env').filter(pair => isOwnVariable(show(pair), brought)),
    labels: Object.fromEntries(
      Object.entries(readMap(own, 'Labels')).filter(
        ([key, text]) => !key.startsWith('com.docker.') && readMap(brought, 'Labels')[key] !== text,
      ),
    ),
    user: isOwn('User') && own['User'],
    working_dir: brought && isOwn('WorkingDir') && own['WorkingDir'],
    stop_signal: brought && isOwn('StopSignal') && own['StopSignal'],
    hostname: !show(container['Id']).startsWith(show(own['Hostname'])) && own['Hostname'],
    tty: own['Tty'],
    stdin_open: own['OpenStdin'],
    stop_grace_period: own['StopTimeout'],
    healthcheck: toHealthCheck(readMap(own, 'Healthcheck')),
    ports: toPorts(readMap(host, 'PortBindings')),
    volumes: readList(container, 'Mounts').filter(isMap).map(toMount),
    ...toResources(host),
    ...toRest(host),
  });
}

/** An image that names no version is named by its digest, where its registry has given one. */
function nameImage(name: string, image: ComposeMap | undefined): string {
  const reference = parseImageReference(name);
  if (reference && isPinned(reference)) return name;
  const [digest, tag] = [readList(image, 'RepoDigests')[0], readList(image, 'RepoTags').find(isPinnedTag)];
  return show(tag ?? digest ?? name);
}

function isPinnedTag(tag: unknown): boolean {
  const reference = parseImageReference(show(tag));
  return reference !== undefined && isPinned(reference);
}

/** Every container has a PATH, which is the image's. */
function isOwnVariable(pair: string, brought: ComposeMap | undefined): boolean {
  return brought ? !readList(brought, 'Env').includes(pair) : !pair.startsWith('PATH=');
}

function toHealthCheck(check: ComposeMap): ComposeMap {
  const seconds = (field: string) => typeof check[field] === 'number' && check[field] > 0 && `${check[field] / 1e9}s`;
  return dropEmpty({
    test: check['Test'],
    interval: seconds('Interval'),
    timeout: seconds('Timeout'),
    start_period: seconds('StartPeriod'),
    retries: check['Retries'],
  });
}

const EVERY_ADDRESS = ['', '0.0.0.0', '::'];

/** `{"80/tcp": [{HostIp, HostPort}]}`; a port is bound once for each family of addresses. */
function toPorts(bindings: ComposeMap): readonly ComposeMap[] {
  const ports = Object.entries(bindings).flatMap(([port, hosts]) => {
    const [target, protocol] = port.split('/');
    return (Array.isArray(hosts) ? hosts.filter(isMap) : []).map(({ HostIp: address, HostPort: published }) =>
      dropEmpty({ target, protocol, published, host_ip: !EVERY_ADDRESS.includes(show(address ?? '')) && address }),
    );
  });
  return [...new Map(ports.map(port => [show(port), port])).values()];
}

function toMount({ Type: type, Name: name, Source: source, Destination: target }: ComposeMap): ComposeMap {
  return { type, source: type === 'bind' ? source : (name ?? type), target };
}

function toResources(host: ComposeMap): ComposeMap {
  const amount = (field: string) => (typeof host[field] === 'number' && host[field] > 0 ? host[field] : undefined);
  const [quota, period = 100_000, nano] = [amount('CpuQuota'), amount('CpuPeriod'), amount('NanoCpus')];
  const cores = nano === undefined ? quota && quota / period : nano / 1e9;
  return {
    cpus: cores && String(Number(cores.toFixed(3))),
    mem_limit: amount('Memory'),
    mem_reservation: amount('MemoryReservation'),
    pids_limit: amount('PidsLimit'),
  };
}

const DEFAULT_SHARED_MEMORY = 64 * 2 ** 20;

/** What has no counterpart here, under the names that compose has for it, for the notes. */
function toRest(host: ComposeMap): ComposeMap {
  const mode = show(host['NetworkMode'] ?? '');
  const isPlain = ['', 'default', 'bridge'].includes(mode);
  const isShared = ['host', 'none'].includes(mode) || mode.startsWith('container:');
  return {
    restart: readMap(host, 'RestartPolicy')['Name'],
    read_only: host['ReadonlyRootfs'],
    network_mode: isShared && mode,
    networks: !isPlain && !isShared && [mode],
    privileged: host['Privileged'],
    cap_add: host['CapAdd'],
    cap_drop: host['CapDrop'],
    devices: host['Devices'],
    device_requests: host['DeviceRequests'],
    dns: host['Dns'],
    extra_hosts: host['ExtraHosts'],
    group_add: host['GroupAdd'],
    init: host['Init'],
    ipc: show(host['IpcMode'] ?? '') === 'host' && 'host',
    links: host['Links'],
    pid: host['PidMode'],
    security_opt: host['SecurityOpt'],
    shm_size: host['ShmSize'] !== DEFAULT_SHARED_MEMORY && host['ShmSize'],
    sysctls: host['Sysctls'],
    tmpfs: host['Tmpfs'],
    ulimits: host['Ulimits'],
    volumes_from: host['VolumesFrom'],
  };
}

/** Without the fields that say nothing. */
function dropEmpty(map: ComposeMap): ComposeMap {
  const isEmpty = (value: unknown) =>
    !value || (Array.isArray(value) ? value.length === 0 : isMap(value) && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(map).filter(([, value]) => !isEmpty(value)));
}

function readMap(from: ComposeMap | undefined, field: string): ComposeMap {
  const value = from?.[field];
  return isMap(value) ? value : {};
}

function readList(from: ComposeMap | undefined, field: string): readonly unknown[] {
  const value = from?.[field];
  return Array.isArray(value) ? value : [];
}
