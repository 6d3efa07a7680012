import { type ContainerSpec, type Engine, EngineUnreachableFault } from '../../pkg/agent/index.js';
import type { SimProcess } from '../../dev/simulation/index.js';

const broken = () => new EngineUnreachableFault('the engine does not answer');
const faults = { wire: 'engine', unreachable: broken, unknown: broken } as const;

/** Told of every container that an engine has made. */
export type OnMade = (id: string, order: ContainerSpec) => void;

/** An engine as one run of an agent reaches it: the engine and the calls under way go on when the agent dies. */
export function createRemoteEngine(agent: SimProcess, engine: Engine, onMade: OnMade): Engine {
  const call = <T>(label: string, effect: () => Promise<T>) => agent.call(`engine ${label}`, effect, faults);
  return {
    ping: () => call('ping', () => engine.ping()),
    facts: () => call('facts', () => engine.facts()),
    conditions: () => engine.conditions(),
    list: nodeId => call('list', () => engine.list(nodeId)),
    listNodeIds: tenant => call('list nodes', () => engine.listNodeIds(tenant)),
    measureDisk: nodeId => call('disk', () => engine.measureDisk(nodeId)),
    readUsage: id => call('usage', () => engine.readUsage(id)),
    inspect: id => call('inspect', () => engine.inspect(id)),
    findImage: image => call('holds', () => engine.findImage(image)),
    pull: (image, login) => call('pull', () => engine.pull(image, login)),
    pruneImages: () => call('prune', () => engine.pruneImages()),
    ensureNetwork: spec => call('ensure network', () => engine.ensureNetwork(spec)),
    removeNetworks: (nodeId, isKept) => call('remove networks', () => engine.removeNetworks(nodeId, isKept)),
    joinNetworks: (container, names) => call('join networks', () => engine.joinNetworks(container, names)),
    create: order =>
      call(`create ${order.name}`, async () => {
        const id = await engine.create(order);
        onMade(id, order);
        return id;
      }),
    start: id => call('start', () => engine.start(id)),
    stop: (id, graceSeconds) => call('stop', () => engine.stop(id, graceSeconds)),
    exec: (id, command, withinMs) => call('exec', () => engine.exec(id, command, withinMs)),
    remove: id => call('remove', () => engine.remove(id)),
    events: (nodeId, seen, signal) => {
      const heard = new AbortController();
      agent.onEnd(() => heard.abort());
      signal.addEventListener('abort', () => heard.abort(), { once: true });
      const hear: typeof seen = event =>
        void agent.later(agent.world.between(0, agent.faults.delayMs), 'hears its engine', () => seen(event));
      return engine.events(nodeId, hear, heard.signal);
    },
    readLastLines: id => call('last lines', () => engine.readLastLines(id)),
    logs: (id, options, signal) => engine.logs(id, options, signal),
    close: () => Promise.resolve(),
  };
}
