import { expect } from 'chai';

import { assertLinearCost } from '../../dev/testing/index.js';
import { filterRows, sortRows, toDeploymentRow } from './deployment-list.js';
import {
  applyWatchLines,
  createLiveList,
  type LiveList,
  restartLiveList,
  splitLines,
  type StreamedChange,
} from './live-list.js';
import { listTroubles } from './troubles.js';
import type { DeploymentView } from './views.js';

interface Thing {
  readonly name: string;
  readonly at: number;
}
const line = (type: StreamedChange<Thing>['type'], cursor: string, name = '', at = 0): StreamedChange<Thing> => ({
  type,
  cursor,
  object: { name, at },
});
const apply = (list: LiveList<Thing>, ...lines: readonly StreamedChange<Thing>[]) =>
  applyWatchLines(list, lines, ({ name }) => name);
const shown = ({ items }: LiveList<Thing>) => [...items.values()].map(({ name, at }) => `${name}${at}`);

describe('a live list', () => {
  const read = apply(
    createLiveList<Thing>(),
    line('added', '5:a', 'a', 1),
    line('added', '5:b', 'b', 1),
    line('bookmark', '5'),
  );

  it('shows nothing before it was read whole, and says so', () => {
    const half = apply(createLiveList<Thing>(), line('added', '5:a', 'a', 1));
    expect([shown(half), half.isLoaded, half.cursor]).to.deep.equal([[], false, '5:a']);
    const whole = apply(half, line('added', '5:b', 'b', 1), line('bookmark', '5'));
    expect([shown(whole), whole.isLoaded, whole.cursor]).to.deep.equal([['a1', 'b1'], true, '5']);
  });

  it('follows what is added, changed and deleted, and leaves the list before as it was', () => {
    const next = apply(
      read,
      line('modified', '6.0', 'a', 2),
      line('deleted', '7.0', 'b'),
      line('added', '8.0', 'c', 1),
    );
    expect([shown(next), next.cursor]).to.deep.equal([['a2', 'c1'], '8.0']);
    expect(shown(read)).to.deep.equal(['a1', 'b1']);
  });

  it('keeps what is shown while it is read again, and then shows nothing that was deleted meanwhile', () => {
    const lost = apply(read, line('modified', '6.0', 'a', 2), line('gone', '9'));
    expect([shown(lost), lost.cursor]).to.deep.equal([['a2', 'b1'], undefined]);
    const reading = apply(lost, line('added', '9:c', 'c', 1));
    expect(shown(reading)).to.deep.equal(['a2', 'b1']);
    expect(shown(apply(reading, line('bookmark', '9')))).to.deep.equal(['c1']);
    expect(restartLiveList(read).cursor).to.equal(undefined);
  });

  it('drops what came first where there is a limit', () => {
    const lines = ['a', 'b', 'c'].map(name => line('added', name, name));
    const list = applyWatchLines(createLiveList<Thing>(), [...lines, line('bookmark', '1')], ({ name }) => name, 2);
    expect(shown(list)).to.deep.equal(['b0', 'c0']);
  });
});

describe('thousands of deployments', () => {
  const names = (count: number) => Array.from({ length: count }, (_, at) => `many-${at}`);
  const status = { phase: 'Failed', message: 'x', placements: [], conditions: [], observedGeneration: 1 };
  const toDeployment = (name: string) =>
    ({
      name,
      image: 'a:1',
      replicas: 1,
      metadata: { generation: 1, createdAt: '', updatedAt: '' },
      status,
    }) as unknown as DeploymentView;

  it('are read in pieces, sorted and looked through for troubles at a cost in proportion to their number', async () => {
    const PIECE = 20;
    await assertLinearCost({
      size: 5_000,
      prepare: count =>
        names(count).map(name => ({ type: 'added' as const, cursor: name, object: toDeployment(name) })),
      run: lines => {
        let list = createLiveList<DeploymentView>();
        const nameOf = ({ name }: DeploymentView) => name;
        for (let at = 0; at < lines.length; at += PIECE)
          list = applyWatchLines(list, lines.slice(at, at + PIECE), nameOf);
        const bookmark = { type: 'bookmark' as const, cursor: 'end', object: lines[0]!.object };
        list = applyWatchLines(list, [bookmark], nameOf);
        const rows = filterRows([...list.items.values()].map(toDeploymentRow), 'many failed');
        expect(sortRows(rows, { column: 'phase', isDescending: false })).to.have.length(lines.length);
        expect(listTroubles({ deployments: list.items.values(), nodes: [] })).to.have.length(lines.length + 1);
      },
    });
  });
});

describe('lines of a stream', () => {
  it('are whole or wait for their rest', () => {
    expect(splitLines('{"a":1}\n{"b"')).to.deep.equal({ lines: ['{"a":1}'], rest: '{"b"' });
    expect(splitLines('\n\n')).to.deep.equal({ lines: [], rest: '' });
  });
});
