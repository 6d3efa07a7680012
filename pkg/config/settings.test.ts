import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { defaultQuotas } from '../../crds/kinds/index.js';
import { defaultRegions } from '../../crds/residency/index.js';
import {
  parseCompactionInterval,
  parseQuotaSettings,
  parseRegionSettings,
  parseReservedHostPorts,
} from './parse-settings.js';
import { InvalidSettingFault, loadSettings, toEnvironmentVariable, toFlag } from './settings.js';

const readSettings = (environment: Readonly<Record<string, string>> = {}) => loadSettings({ environment }).settings;

describe('loadSettings', () => {
  let folder: string;
  const file = (text: string) => {
    const path = join(folder, 'mooring.yaml');
    writeFileSync(path, text);
    return path;
  };
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mooring-settings-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('reports the default of a setting that is not set', () => {
    const { settings, origins } = loadSettings({ environment: {} });
    expect(settings.maxReplicasPerDeployment).to.equal(100);
    expect(origins.maxReplicasPerDeployment).to.equal('default');
  });

  it('lets a flag win over the environment, and the environment over the file', () => {
    const path = file('listen: a\nlogLevel: warn\nheartbeatSeconds: 7\n');
    const environment = { MOORING_LISTEN: 'b', MOORING_LOG_LEVEL: 'debug' };
    const { settings, origins } = loadSettings({ environment, file: path, flags: { listen: 'c' } });

    expect([settings.listen, settings.logLevel, settings.heartbeatSeconds]).to.deep.equal(['c', 'debug', 7]);
    expect([origins.listen, origins.logLevel, origins.heartbeatSeconds]).to.deep.equal(['flag', 'environment', 'file']);
  });

  it('takes no collector from a variable that platforms set in every container', () => {
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' };
    expect(loadSettings({ environment }).settings.traceEndpoint).to.equal('');
  });

  it('reads lists from comma-separated text', () => {
    const { settings } = loadSettings({ environment: { MOORING_RESERVED_NAMES: 'etcd,postgres' } });
    expect(settings.reservedNames).to.deep.equal(['etcd', 'postgres']);
  });

  const refused: readonly [string, () => unknown][] = [
    ['a setting that does not exist', () => loadSettings({ environment: {}, file: file('listem: a\n') })],
    ['a number that is not one', () => loadSettings({ environment: { MOORING_MAX_BODY_BYTES: 'much' } })],
    ['an empty number', () => loadSettings({ environment: { MOORING_MAX_BODY_BYTES: '' } })],
    ['a file that is not a map', () => loadSettings({ environment: {}, file: file('- a\n') })],
  ];
  for (const [name, load] of refused) it(`refuses ${name}`, () => expect(load).to.throw(InvalidSettingFault));

  it('derives the names of variables and flags from the key', () => {
    expect(toEnvironmentVariable('maxBodyBytes')).to.equal('MOORING_MAX_BODY_BYTES');
    expect(toFlag('maxBodyBytes')).to.equal('--max-body-bytes');
  });
});

describe('setting regions', () => {
  it('declares the default regions unless it is set', () => {
    expect(parseRegionSettings(readSettings())).to.deep.equal({ enforced: true, declared: defaultRegions });
  });

  it('is parsed with country codes in any case', () => {
    const custom = readSettings({ MOORING_REGIONS: 'alps=ch|AT,uk=GB', MOORING_RESIDENCY_ENFORCEMENT: 'false' });
    expect(parseRegionSettings(custom)).to.deep.equal({
      enforced: false,
      declared: [
        { name: 'alps', countries: ['CH', 'AT'] },
        { name: 'uk', countries: ['GB'] },
      ],
    });
  });

  for (const text of ['eu', 'eu=', 'eu=DE|UK', 'EU=DE', 'eu=DE|', '=DE', 'eu=DE=FR']) {
    it(`refuses ${text}`, () => {
      expect(() => parseRegionSettings(readSettings({ MOORING_REGIONS: text }))).to.throw(InvalidSettingFault);
    });
  }
});

describe('setting reservedHostPorts', () => {
  it('is parsed as ports and ranges', () => {
    expect(parseReservedHostPorts(readSettings())).to.deep.equal([]);
    const custom = readSettings({ MOORING_RESERVED_HOST_PORTS: '7070,2379-2380' });
    expect(parseReservedHostPorts(custom)).to.deep.equal([
      { first: 7070, last: 7070 },
      { first: 2379, last: 2380 },
    ]);
  });

  for (const text of ['0', '65536', '80-79', '7070/tcp', '-1', '1-', 'all', ' 80']) {
    it(`refuses ${text}`, () => {
      const custom = readSettings({ MOORING_RESERVED_HOST_PORTS: text });
      expect(() => parseReservedHostPorts(custom)).to.throw(InvalidSettingFault);
    });
  }
});

describe('setting quotas', () => {
  it('has the quotas of the contract as its default', () => {
    expect(parseQuotaSettings(readSettings())).to.deep.equal(defaultQuotas);
  });

  it('is parsed in the unit of each kind', () => {
    const custom = readSettings({ MOORING_QUOTAS: 'containers=5,cpu=1.5,memory=2Gi' });
    expect(parseQuotaSettings(custom)).to.deep.include({ containers: 5, cpu: 1500, memory: 2 * 2 ** 30 });
  });

  for (const text of ['containers', 'containers=many', 'pods=5', 'cpu=-1', 'toString=1']) {
    it(`refuses ${text}`, () => {
      expect(() => parseQuotaSettings(readSettings({ MOORING_QUOTAS: text }))).to.throw(InvalidSettingFault);
    });
  }
});

describe('the interval of compaction', () => {
  for (const [text, ms] of [
    ['0', 0],
    ['60', 60_000],
    ['86400', 86_400_000],
  ] as const) {
    it(`is ${ms} ms for ${text}`, () =>
      expect(parseCompactionInterval(readSettings({ MOORING_ETCD_COMPACT_EVERY_SECONDS: text }))).to.equal(ms));
  }
  for (const text of ['59', '-1', '2592000']) {
    it(`cannot be ${text} seconds`, () =>
      expect(() => parseCompactionInterval(readSettings({ MOORING_ETCD_COMPACT_EVERY_SECONDS: text }))).to.throw(
        InvalidSettingFault,
      ));
  }
});
