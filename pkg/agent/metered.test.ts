import { expect } from 'chai';

import { ManualClock } from '../clock/manual-clock.testing.js';
import { type AgentLink, LinkRefusedFault, LinkUnreachableFault } from '../link/index.js';
import { createMetrics } from '../metrics/index.js';
import { type Engine, EngineUnreachableFault } from './engine/index.js';
import { meterEngine, meterLink } from './metered.js';

describe('metrics of an agent', () => {
  /** Private state, as the real driver and the real link have it: it must be reached through the meter. */
  class Double {
    #fault: Error | undefined;
    fail(fault: Error | undefined): void {
      this.#fault = fault;
    }
    async ping(): Promise<void> {
      if (this.#fault) throw this.#fault;
    }
    async heartbeat(): Promise<object> {
      await this.ping();
      return {};
    }
    async list(): Promise<readonly object[]> {
      return [{ state: 'running' }, { state: 'running' }, { state: 'exited' }];
    }
    conditions(): readonly object[] {
      return [];
    }
  }

  const lab = () => {
    const double = new Double();
    const metrics = createMetrics({ processMetrics: false, agent: true });
    const env = { clock: new ManualClock(1_700_000_000_000), metrics };
    const lines = async () => (await metrics.text()).split('\n');
    return {
      double,
      lines,
      engine: meterEngine(double as unknown as Engine, env),
      link: meterLink(double as unknown as AgentLink, env),
    };
  };

  it('say whether the engine answers, and which containers it has', async () => {
    const { double, lines, engine } = lab();
    await engine.ping();
    await engine.list('node');
    expect(engine.conditions()).to.deep.equal([]);
    expect(await lines()).to.include.members([
      'mooring_agent_engine_up 1',
      'mooring_agent_engine_calls_total{call="ping",result="ok"} 1',
      'mooring_agent_engine_call_seconds_count{call="list"} 1',
      'mooring_agent_containers{state="running"} 2',
      'mooring_agent_containers{state="exited"} 1',
      'mooring_agent_containers{state="created"} 0',
    ]);
    double.fail(new EngineUnreachableFault('away'));
    const fault = await engine.ping().catch((thrown: unknown) => thrown);
    expect(fault).to.be.instanceOf(EngineUnreachableFault);
    expect(await lines()).to.include.members([
      'mooring_agent_engine_up 0',
      'mooring_agent_engine_calls_total{call="ping",result="failed"} 1',
    ]);
  });

  it('say when the server last accepted a heartbeat, and what it refused', async () => {
    const { double, lines, link } = lab();
    await link.heartbeat({} as never);
    for (const fault of [new LinkRefusedFault(403, 'x'), new LinkUnreachableFault('away')]) {
      double.fail(fault);
      await link.heartbeat({} as never).catch(() => undefined);
    }
    expect(await lines()).to.include.members([
      'mooring_agent_last_heartbeat_timestamp_seconds 1700000000',
      'mooring_agent_server_calls_total{call="heartbeat",result="ok"} 1',
      'mooring_agent_server_calls_total{call="heartbeat",result="refused"} 1',
      'mooring_agent_server_calls_total{call="heartbeat",result="failed"} 1',
    ]);
  });

  it('are not those of a server, and a server has none of them', async () => {
    const { lines } = lab();
    expect((await lines()).join('\n')).not.to.contain('mooring_store_alarms');
    expect(await createMetrics({ processMetrics: false }).text()).not.to.contain('mooring_agent');
  });
});
