import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';
import { parseAllDocuments } from 'yaml';

import { exampleFacts, limits, listFaults } from '../../crds/deployment/admit.testing.js';
import { admitCreate } from '../../crds/deployment/admit.js';
import { useCommandLab } from './command-lab.testing.js';
import { convertCompose } from './convert/compose.js';
import { fillIn, readMemory, readWords } from './convert/values.js';

const PASSWORD = 'correct-horse-battery';
const COMPOSE = `
name: shop
services:
  web_front:
    image: registry.example.com/shop/web:\${TAG:-1.4.2}
    command: serve --title "Our shop" --greeting 'it''s $$5'
    environment:
      LOG_LEVEL: debug
      WORKERS: 4
      POSTGRES_PASSWORD: ${PASSWORD}
      REGION:
    ports: ["8080:80", "127.0.0.1:9000:9000/udp", "3000-3005:3000-3005", { target: 81, published: "8081" }]
    depends_on:
      db: { condition: service_healthy }
      setup: { condition: service_completed_successfully }
      cache: { condition: service_started }
    healthcheck: { test: ["CMD", "wget", "-q", "http://127.0.0.1/"], timeout: 3s, retries: 1, interval: 5s }
    deploy: { replicas: 2, resources: { reservations: { cpus: "0.25" }, limits: { memory: 512m } } }
    labels: ["team=shop", "traefik.http.routers.web.rule=Host(\`shop\`)"]
    volumes: ["./html:/usr/share/html:ro"]
    restart: unless-stopped
    sysctls: { net.core.somaxconn: 1024 }
  db:
    image: registry.example.com/shop/db:16
    user: 999
    mem_limit: 1g
    stop_grace_period: 1m30s
    healthcheck: { test: pg_isready -U shop }
    volumes: [data:/var/lib/postgresql/data]
  cache: { build: . }
volumes: { data: {} }
`;

describe('moor convert', () => {
  const lab = useCommandLab();
  const convert = async (text: string) => {
    const file = join(lab.folder, 'compose.yaml');
    writeFileSync(file, text);
    return lab.moor(['convert', file]);
  };

  it('prints deployments that admission takes, and asks no server', async () => {
    const { code, out } = await convert(COMPOSE);
    const [web, db, ...others] = parseAllDocuments(out).map(each => each.toJS() as Record<string, unknown>);
    expect([code, others.length, lab.api.got.length]).to.deep.equal([0, 0, 0]);
    expect(web).to.deep.equal({
      kind: 'Deployment',
      name: 'web-front',
      image: 'registry.example.com/shop/web:1.4.2',
      command: ['serve', '--title', 'Our shop', '--greeting', 'its $5'],
      environment: { LOG_LEVEL: 'debug', WORKERS: '4' },
      ports: [
        { containerPort: 80, hostPort: 8080 },
        { containerPort: 9000, hostPort: 9000, protocol: 'udp' },
        { containerPort: 81, hostPort: 8081 },
      ],
      healthCheck: {
        type: 'exec',
        command: ['wget', '-q', 'http://127.0.0.1/'],
        interval: '5s',
        timeout: '10s',
        retries: 3,
      },
      replicas: 2,
      resources: { cpu: '0.25', limits: { memory: '512Mi' } },
      labels: { team: 'shop' },
      dependsOn: [{ name: 'db', condition: 'healthy' }],
    });
    expect(db).to.include({ name: 'db', user: '999', stopGracePeriod: '1m30s' });
    for (const document of [db, { ...web, dependsOn: [] }])
      expect(listFaults(admitCreate(document, exampleFacts, limits))).to.deep.equal([]);
  });

  it('says what is not carried over, line by line, and shows no credential', async () => {
    const { out, err } = await convert(COMPOSE);
    const says = [
      /^services\.web_front: is called web-front here/m,
      /^services\.web_front\.environment: POSTGRES_PASSWORD holds a credential.*moor secrets write deployments\/web-front/m,
      /name: POSTGRES, vault_path: deployments\/web-front, anchor: external/,
      /^services\.web_front\.environment: REGION has no value/m,
      /^services\.web_front\.ports: 3000-3005:3000-3005 is no single port/m,
      /^services\.web_front\.ports: the address 127\.0\.0\.1 is left out/m,
      /^services\.web_front\.depends_on: setup: service_completed_successfully .* job/m,
      /^services\.web-front\.depends_on: cache is left out, since it was not converted/m,
      /^services\.web_front\.healthcheck: timeout is raised from 3s to 10s/m,
      /^services\.web_front\.labels: traefik\.http\.routers\.web\.rule is left out/m,
      /^services\.web_front\.volumes: \.\/html of the machine is not mounted/m,
      /^services\.web_front\.sysctls: has no counterpart/m,
      /^services\.db\.volumes: data for \/var\/lib\/postgresql\/data is no volume of ours: create one/m,
      /^services\.cache\.image: there is none: build one/m,
    ];
    for (const text of says) expect(err).to.match(text);
    expect(out + err).to.not.include(PASSWORD);
  });

  it('refuses what is no compose file, and one of which nothing can be run', async () => {
    expect((await convert('kind: Deployment\nname: web\n')).err).to.contain('has no "services"');
    const empty = await convert('services: { web: { build: . }, "1": { image: "web:1" } }');
    expect([empty.code, empty.out]).to.deep.equal([1, '']);
    expect(empty.err).to.contain('nothing could be converted').and.contain('a name that no deployment can have');
  });

  it('takes anything for a service without failing', () => {
    const odd = [null, true, 7, 'text', [], [null], {}, { a: null }, [{ target: {} }], { test: 7 }];
    const fields =
      'image entrypoint command environment ports healthcheck depends_on labels volumes deploy scale cpus mem_limit pids_limit user read_only stop_grace_period restart networks'.split(
        ' ',
      );
    for (const value of odd)
      for (const field of fields) {
        const converted = convertCompose({ services: { web: { image: 'web:1', [field]: value } } });
        expect(JSON.stringify(converted), `${field} ${JSON.stringify(value)}`).to.contain('notes');
      }
    expect(convertCompose({ services: { web: null, __proto__: 7 } })?.documents).to.deep.equal([]);
  });

  it('splits words as a shell does, and reads amounts and variables as compose does', () => {
    const told: string[] = [];
    const tell = (message: string) => void told.push(message);
    expect(readWords(`a "b c" d\\ e '' "x\\"y"`, tell)).to.deep.equal(['a', 'b c', 'd e', '', 'x"y']);
    expect(readWords('a "b', tell)).to.equal(undefined);
    expect(['512m', '1.5GB', '1gib', 1048577, '10x'].map(each => readMemory(each, tell))).to.deep.equal([
      '512Mi',
      '1536Mi',
      '1024Mi',
      '1048577',
      undefined,
    ]);
    expect(fillIn({ a: ['${X:-1}-$Y-$$Z'] }, tell)).to.deep.equal({ a: ['1-$Y-$Z'] });
    expect(told).to.deep.equal([
      'has a quote that is not closed',
      'is no amount such as 512m',
      'nothing fills in the variable Y: write its value',
    ]);
  });
});
