import {
  isDnsLabel,
  isLabelKey,
  isLabelValue,
  isReservedLabel,
  parseCpu,
  parseDuration,
  parseImageReference,
} from '../../../crds/grammar/index.js';
import { isCredential } from '../../../crds/workload/index.js';
import {
  fillIn,
  type ComposeMap,
  isMap,
  readMemory,
  readCount,
  readDuration,
  readPairs,
  readText,
  readWords,
  show,
  type AddNote,
} from './values.js';

/** Something that is not carried over, or not as it was: where, and what to do. */
export interface ConversionNote {
  readonly field: string;
  readonly message: string;
}

/** A service of a compose file as a deployment; without one where there is nothing to run. */
export interface ConvertedService {
  readonly document?: ComposeMap;
  readonly notes: readonly ConversionNote[];
}

/** What a field of a service becomes. */
type Reader = (value: unknown, note: AddNote, name: string) => ComposeMap | undefined;

/** What admission asks for at least, where a server is not set otherwise. */
const LEAST = { timeout: '10s', retries: 3 } as const;

/** The name that a service has here: `my_web` → `my-web`. */
export function toDeploymentName(service: string): string {
  return service.toLowerCase().replaceAll(/[._]/g, '-');
}

export function convertService(service: string, given: ComposeMap): ConvertedService {
  const notes: ConversionNote[] = [];
  const noteOn = (field: string) => (message: string) => void notes.push({ field, message });
  const name = toDeploymentName(service);
  if (!isDnsLabel(name)) {
    noteOn('')('has a name that no deployment can have: begin with a letter, use letters, digits and hyphens only');
    return { notes };
  }
  if (name !== service) noteOn('')(`is called ${name} here, also in the network`);
  let document: ComposeMap = { kind: 'Deployment', name };
  for (const [field, value] of Object.entries(given)) {
    if (field.startsWith('x-') || field === 'expose') continue;
    const note = noteOn(field);
    const read = READERS[field];
    if (!read) note(OTHERWISE[field] ?? 'has no counterpart here, and is left out');
    else if (value !== null) document = merge(document, read(fillIn(value, note), note, name) ?? {});
  }
  if (document['image'] !== undefined) return { document, notes };
  noteOn('image')('there is none: build one, push it to a registry, and name it with its version');
  return { notes };
}

/** Resources come from several fields of a service. */
function merge(document: ComposeMap, more: ComposeMap): ComposeMap {
  const [before, after] = [document['resources'], more['resources']];
  if (!isMap(before) || !isMap(after)) return { ...document, ...more };
  const limits = { ...(before['limits'] as ComposeMap), ...(after['limits'] as ComposeMap) };
  return { ...document, resources: { ...before, ...after, ...(Object.keys(limits).length > 0 && { limits }) } };
}

const readImage: Reader = (value, note) => {
  const image = readText(value, note);
  const reference = image === undefined ? undefined : parseImageReference(image);
  if (!reference) return note('is no reference to an image');
  const { tag, digest } = reference;
  if (digest === undefined && (tag === undefined || tag === 'latest'))
    note('names no version, and is refused until it does');
  return { image };
};

const readEnvironment: Reader = (value, note, name) => {
  const constants: Record<string, string> = {};
  for (const [variable, text] of readPairs(value)) {
    const at = variable.lastIndexOf('_');
    const [prefix, key] = [variable.slice(0, at), variable.slice(at + 1)];
    if (text === undefined) note(`${variable} has no value in the file: write it`);
    else if (!isCredential(variable, text)) constants[variable] = text;
    else {
      const entry = `secrets: [{ name: ${prefix}, vault_path: deployments/${name}, anchor: external }]`;
      const rest =
        at > 0 ? `the key ${key}, and refer to it: ${entry}` : 'a key of its own, and refer to it in secrets';
      note(
        `${variable} holds a credential and is left out: write it with "moor secrets write deployments/${name}" under ${rest}`,
      );
    }
  }
  return Object.keys(constants).length > 0 ? { environment: constants } : undefined;
};

const PORT = /^(?:(\[[\da-f:]+\]|\d+(?:\.\d+){3}):)?(?:(\d{0,5}):)?(\d{1,5})(?:\/(tcp|udp))?$/;

const readPorts: Reader = (value, note) => {
  const ports = (Array.isArray(value) ? value : []).flatMap(each => {
    const { host_ip: address, published, target, protocol } = isMap(each) ? each : splitPort(show(each));
    if (![target, published ?? '1'].every(port => /^\d{0,5}$/.test(show(port))) || !Number(target)) {
      note(`${show(each)} is no single port: write one entry for each`);
      return [];
    }
    if (address !== undefined) note(`the address ${show(address)} is left out: its agent decides where it listens`);
    const host = published === undefined || published === '' ? {} : { hostPort: Number(published) };
    return [{ containerPort: Number(target), ...host, ...(protocol === 'udp' && { protocol }) }];
  });
  return ports.length > 0 ? { ports } : undefined;
};

function splitPort(text: string): ComposeMap {
  const [, address, published, target, protocol] = PORT.exec(text) ?? [];
  return { host_ip: address, published, target, protocol };
}

const readHealthCheck: Reader = (value, note) => {
  if (!isMap(value)) return note('must be a map');
  const { test, interval, timeout, retries, start_period: startPeriod, disable } = value;
  const words = Array.isArray(test) ? test.map(show) : ['CMD-SHELL', show(test ?? '')];
  const command = /^CMD(?:-SHELL)?$/.test(words[0] ?? '') ? words.slice(1) : words;
  if (disable === true || words[0] === 'NONE' || command.every(word => word.trim() === ''))
    return note('checks nothing: without a check a container that runs counts as healthy');
  const times = { interval, timeout, startPeriod };
  const durations = Object.entries(times).flatMap(([field, text]) => {
    const read = text === undefined ? undefined : readDuration(text, message => note(`${field} ${message}`));
    const isShort = field === 'timeout' && read !== undefined && parseDuration(read)! < parseDuration(LEAST.timeout)!;
    if (isShort) note(`timeout is raised from ${read} to ${LEAST.timeout}, the least that is accepted`);
    return read === undefined ? [] : [[field, isShort ? LEAST.timeout : read]];
  });
  const isFew = retries !== undefined && Number(retries) < LEAST.retries;
  if (isFew) note(`retries is raised from ${show(retries)} to ${LEAST.retries}, the least that is accepted`);
  const often = retries === undefined ? {} : { retries: isFew ? LEAST.retries : Number(retries) };
  return { healthCheck: { type: 'exec', command, ...Object.fromEntries(durations), ...often } };
};

const CONDITIONS: Readonly<Record<string, string>> = { service_started: 'started', service_healthy: 'healthy' };

const readDependencies: Reader = (value, note) => {
  const asked: readonly (readonly [string, unknown])[] = Array.isArray(value)
    ? value.map(each => [show(each), 'service_started'])
    : Object.entries(value as ComposeMap).map(([name, each]) => [name, isMap(each) ? each['condition'] : undefined]);
  const dependsOn = asked.flatMap(([service, waits = 'service_started']) => {
    const condition = CONDITIONS[show(waits)];
    if (condition !== undefined) return [{ name: toDeploymentName(service), condition }];
    note(`${service}: ${show(waits)} has no counterpart: run it as a job first ("moor run")`);
    return [];
  });
  return dependsOn.length > 0 ? { dependsOn } : undefined;
};

const readLabels: Reader = (value, note) => {
  const isSound = ([key, text = '']: readonly [string, string | undefined]) =>
    isLabelKey(key) && isLabelValue(text) && !isReservedLabel(key);
  const [sound, other] = [readPairs(value).filter(isSound), readPairs(value).filter(pair => !isSound(pair))];
  for (const [key] of other) note(`${key} is left out: its key or its value is none that a label can have`);
  return sound.length > 0 ? { labels: Object.fromEntries(sound.map(([key, text = '']) => [key, text])) } : undefined;
};

const readMounts: Reader = (value, note) => {
  for (const each of Array.isArray(value) ? value : []) {
    const [from, to] = show(each).split(':');
    const { source, target, type } = isMap(each)
      ? each
      : to === undefined
        ? { target: from }
        : { source: from, target: to };
    const isPath = type === 'bind' || /^[./~]/.test(show(source ?? ''));
    const way = 'create one ("moor volumes create"), and name it by its id in volumes';
    note(
      isPath
        ? `${show(source)} of the machine is not mounted at ${show(target)}: put it into the image, or into a volume`
        : `${show(source ?? 'a volume')} for ${show(target)} is no volume of ours: ${way}`,
    );
  }
  return undefined;
};

const amount =
  (part: 'cpu' | 'memory' | 'pids', of?: 'limits'): Reader =>
  (value, note) => {
    const isCores = part !== 'cpu' || parseCpu(show(value)) !== undefined;
    const cores = isCores ? show(value) : note('is no number of cores with at most three decimals');
    const read = part === 'memory' ? readMemory(value, note) : part === 'cpu' ? cores : readCount(value, note);
    if (read === undefined) return undefined;
    return { resources: of ? { limits: { [part]: read } } : { [part]: read } };
  };

const readDeploy: Reader = (value, note) => {
  if (!isMap(value)) return note('must be a map');
  const { replicas, resources, labels, ...others } = value;
  for (const field of Object.keys(others)) note(`${field} has no counterpart here, and is left out`);
  const { limits, reservations } = isMap(resources) ? resources : ({} as ComposeMap);
  let document: ComposeMap = replicas === undefined ? {} : (wrap('replicas', readCount(replicas, note)) ?? {});
  for (const [given, of] of [
    [reservations, undefined],
    [limits, 'limits'],
  ] as const) {
    const { cpus, memory, pids } = isMap(given) ? given : ({} as ComposeMap);
    if (cpus !== undefined) document = merge(document, amount('cpu', of)(cpus, note, '') ?? {});
    if (memory !== undefined) document = merge(document, amount('memory', of)(memory, note, '') ?? {});
    if (pids !== undefined && of) document = merge(document, amount('pids', of)(pids, note, '') ?? {});
  }
  return { ...document, ...(labels !== undefined && readLabels(labels, note, '')) };
};

const READERS: Readonly<Record<string, Reader>> = {
  image: readImage,
  entrypoint: (value, note) => wrap('entrypoint', readWords(value, note)),
  command: (value, note) => wrap('command', readWords(value, note)),
  environment: readEnvironment,
  ports: readPorts,
  healthcheck: readHealthCheck,
  depends_on: readDependencies,
  labels: readLabels,
  volumes: readMounts,
  deploy: readDeploy,
  scale: (value, note) => wrap('replicas', readCount(value, note)),
  cpus: amount('cpu', 'limits'),
  mem_limit: amount('memory', 'limits'),
  mem_reservation: amount('memory'),
  pids_limit: amount('pids', 'limits'),
  user: (value, note) => wrap('user', readText(value, note)),
  read_only: value => ({ readOnlyRootFilesystem: value === true }),
  stop_grace_period: (value, note) => wrap('stopGracePeriod', readDuration(value, note)),
  restart: (value, note) =>
    value === 'no' ? note('"no": what ends by itself is a job ("moor run"); a deployment is started again') : undefined,
};

function wrap(field: string, value: unknown): ComposeMap | undefined {
  return value === undefined || (Array.isArray(value) && value.length === 0) ? undefined : { [field]: value };
}

/** What is said of fields that are left out, where there is something to do. */
const OTHERWISE: Readonly<Record<string, string>> = {
  build: 'images are not built here: build one, push it to a registry, and name it in image',
  env_file: 'files are not read: put their constants into environment, and their credentials into the secrets store',
  networks:
    'all deployments of a tenant reach each other by name; for a network of its own: "moor networks create", and networks: [NAME]',
  secrets: 'secrets are no files here: "moor secrets write", and name them in secrets: they arrive as variables',
  configs: 'put the file into the image, or its constants into environment',
  tmpfs: 'create a volume of type tmpfs ("moor volumes create"), and name it by its id in volumes',
  container_name: 'containers are named after their deployment',
  '<<': 'YAML merges are not read: write the fields out',
};
