import { isTestCode, type Source } from './source-files.js';

/**
 * Lines of TypeScript that each room may have. A change that needs more raises the number here, where a reviewer sees it; one that needs
 * fewer lowers it.
 */
const budgets: Readonly<Record<string, number>> = {
  api: 800,
  'api/access': 850,
  'api/admission': 1150,
  'api/docs': 650,
  'api/http': 1500,
  'api/k8s': 3550,
  'api/routes': 6650,
  'api/stream': 350,
  'api/watch': 900,
  'api/write': 700,
  bridge: 1750,
  controllers: 650,
  'controllers/autoscaler': 400,
  'controllers/janitor': 350,
  'controllers/job-runner': 600,
  'controllers/job-scheduler': 600,
  'controllers/network-roller': 250,
  'controllers/node-monitor': 400,
  'controllers/reading': 800,
  'controllers/replica-keeper': 1800,
  'controllers/rotation-phaser': 700,
  'controllers/scheduler': 1000,
  'controllers/secret-resolver': 300,
  'controllers/status-roller': 1150,
  'controllers/volume-keeper': 1950,
  'controllers/volume-recommender': 350,
  crds: 17800,
  dashboard: 6650,
  'hack and dev': 7450,
  packaging: 250,
  'pkg/agent': 16750,
  'pkg/auth': 300,
  'pkg/bootstrap': 200,
  'pkg/certificates': 550,
  'pkg/cli': 9100,
  'pkg/client': 600,
  'pkg/clock': 300,
  'pkg/config': 450,
  'pkg/events': 200,
  'pkg/failpoint': 250,
  'pkg/fault': 50,
  'pkg/fleet': 1100,
  'pkg/history': 250,
  'pkg/json': 350,
  'pkg/link': 2850,
  'pkg/log': 150,
  'pkg/material': 400,
  'pkg/metrics': 300,
  'pkg/ndjson': 100,
  'pkg/placement': 1150,
  'pkg/process': 950,
  'pkg/recommend': 350,
  'pkg/reconcile': 650,
  'pkg/registry': 1200,
  'pkg/secrets': 2300,
  'pkg/store': 4750,
  'pkg/terminal': 650,
  'pkg/trace': 550,
  'pkg/version': 50,
  tests: 109150,
  up: 3500,
};

const TESTS = 'tests';
/** Rooms that are counted as one. */
const WHOLE = /^(?:crds|dashboard|up|packaging)\//;
const TOOLS = /^(?:hack|dev)\//;

/** The room of a file: tests are one, and so are the tools; of the product each folder is. */
function findRoom(path: string): string {
  if (isTestCode(path) || path.startsWith('e2e/')) return TESTS;
  if (TOOLS.test(path)) return 'hack and dev';
  const [top = '', folder = ''] = path.split('/');
  return WHOLE.test(path) || folder.includes('.') ? top : `${top}/${folder}`;
}

/** How many lines each room has. */
function countLines(sources: readonly Source[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { path, text } of sources) {
    const room = findRoom(path);
    counts.set(room, (counts.get(room) ?? 0) + text.split('\n').length - 1);
  }
  return counts;
}

/** Rooms with more lines than they may have, and rooms that the table does not know, or knows in vain. */
export function findOvergrownRooms(sources: readonly Source[], limits = budgets): string[] {
  const counts = countLines(sources);
  const gone = Object.keys(limits).filter(room => !counts.has(room));
  return [
    ...[...counts].flatMap(([room, lines]) => {
      const limit = limits[room];
      if (limit === undefined) return [`${room}: has no budget of lines; enter one in hack/checks/lines.ts`];
      return lines > limit
        ? [`${room}: ${lines} lines, its budget is ${limit}; make it smaller, or raise the budget and say why`]
        : [];
    }),
    ...gone.map(room => `${room}: has a budget of lines and no files; remove it from hack/checks/lines.ts`),
  ];
}

/** `98,000 lines of product, 7,000 of hack and dev, 93,000 of tests` */
export function summariseLines(sources: readonly Source[]): string {
  const counts = countLines(sources);
  const [tests = 0, tools = 0] = [counts.get(TESTS), counts.get('hack and dev')];
  const all = [...counts.values()].reduce((sum, lines) => sum + lines, 0);
  const format = (lines: number) => lines.toLocaleString('en');
  return `${format(all - tests - tools)} lines of product, ${format(tools)} of hack and dev, ${format(tests)} of tests`;
}
