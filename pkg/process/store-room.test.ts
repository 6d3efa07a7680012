import { expect } from 'chai';

import type { StoreMember } from '../store/index.js';
import { chooseMember, computeKeptBytes, isWorthDefragmenting, judgeRoom, mayDisarm } from './store-room.js';

const MB = 1 << 20;
const QUOTA = 256 * MB;

describe('room in the store', () => {
  it('keeps what compaction writes of the largest documents, and a share of a large or a small quota', () => {
    expect([16, 256, 2_048].map(quota => computeKeptBytes(quota * MB) / MB)).to.deep.equal([2, 24, 0.05 * 2_048]);
  });

  const free = { nearsQuota: false, isReserved: false };
  const filling = { nearsQuota: true, isReserved: false };
  const reserved = { nearsQuota: true, isReserved: true };
  const cases: readonly [string, megabytes: number, wasReserved: boolean, ReturnType<typeof judgeRoom>][] = [
    ['takes all far below the quota', 200, false, free],
    ['warns from 80 % on', 206, false, filling],
    ['takes all until it reaches what is kept', 231.9, false, filling],
    ['keeps the rest from there on', 232, false, reserved],
    ['goes on until there is more room than it began with', 222.5, true, reserved],
    ['ends when a defragmentation has made the file smaller', 222.3, true, filling],
    ['keeps the rest to the last byte', 256, false, reserved],
    ['goes on when compaction has written beyond the quota, whether or not etcd has noticed', 312, true, reserved],
  ];
  for (const [title, megabytes, wasReserved, expected] of cases)
    it(title, () => {
      // What is in use decides nothing: what is free lies scattered.
      const health = { databaseBytes: megabytes * MB, usedBytes: 100 * MB, alarms: [] };
      expect(judgeRoom(health, QUOTA, wasReserved)).to.deep.equal(expected);
      expect(judgeRoom(health, 0, wasReserved), 'an unknown quota').to.deep.equal(free);
    });

  const well = { quotaBytes: QUOTA, isReserved: false, isFull: false };
  const low = { ...well, isReserved: true };
  const worth: readonly [string, file: number, used: number, input: typeof well, boolean][] = [
    ['a reserve, and enough for the next deletions', 240, 234, low, true],
    ['a reserve, and less than that', 240, 234.1, low, false],
    ['the alarm', 257, 251, { ...well, isFull: true }, true],
    ['a quarter of the quota, before tenants are stopped', 206, 142, well, true],
    ['less than a quarter, while there is room', 206, 142.1, well, false],
    ['a file that is small, whatever is free in it', 200, 10, low, false],
  ];
  for (const [title, file, used, input, isWorth] of worth)
    it(`is ${isWorth ? '' : 'not '}worth a defragmentation with ${title}`, () => {
      const sizes = { databaseBytes: file * MB, usedBytes: used * MB };
      expect(isWorthDefragmenting(sizes, input)).to.equal(isWorth);
    });

  const member = (id: string, given: Partial<StoreMember> = {}): StoreMember => ({
    id,
    name: id,
    endpoint: `https://${id}`,
    isLeader: false,
    isReady: true,
    databaseBytes: 240 * MB,
    usedBytes: 100 * MB,
    ...given,
  });
  const gone = (id: string): StoreMember => ({
    id,
    name: id,
    isLeader: false,
    isReady: false,
    databaseBytes: 0,
    usedBytes: 0,
  });
  const small = { databaseBytes: 101 * MB };
  const leader = member('a', { isLeader: true });
  const choices: readonly [string, StoreMember[], string[], typeof well, string | undefined][] = [
    ['a follower before the leader', [leader, member('b'), member('c')], [], low, 'b'],
    ['the next follower', [leader, member('b', small), member('c')], [], low, 'c'],
    ['the leader last', [leader, member('b', small), member('c', small)], [], low, 'a'],
    ['the only member', [leader], [], low, 'a'],
    ['none twice', [leader], ['a'], low, undefined],
    ['none while another has to catch up', [leader, member('b'), member('c', { isReady: false })], [], low, undefined],
    ['none while another cannot be reached', [leader, member('b'), gone('c')], [], low, undefined],
    [
      'one of five while another cannot be reached',
      [leader, ...'bcd'.split('').map(id => member(id)), gone('e')],
      [],
      low,
      'b',
    ],
    ['one all the same where etcd takes no data', [leader, member('b'), gone('c')], [], { ...low, isFull: true }, 'b'],
    [
      'none there either while one is not ready',
      [leader, member('b', { isReady: false })],
      [],
      { ...low, isFull: true },
      undefined,
    ],
    ['none without need', [member('a', small)], [], low, undefined],
  ];
  for (const [title, members, done, input, expected] of choices)
    it(`chooses ${title}`, () => expect(chooseMember(members, new Set(done), input)?.id).to.equal(expected));

  const disarms: readonly [string, StoreMember[], boolean][] = [
    ['every file has room for deletions', [member('a', small), member('b', { databaseBytes: 243.9 * MB })], true],
    ['one file has none', [member('a', small), member('b', { databaseBytes: 244 * MB })], false],
    ['one of three cannot be reached', [member('a', small), member('b', small), gone('c')], true],
    ['two of three cannot be reached', [member('a', small), gone('b'), gone('c')], false],
  ];
  for (const [title, members, may] of disarms)
    it(`${may ? 'takes' : 'does not take'} the alarm back when ${title}`, () =>
      expect(mayDisarm(members, QUOTA)).to.equal(may));
});
