import { spawnSync } from 'node:child_process';

import { expect } from 'chai';

import { toScriptArguments } from '../../dev/testing/index.js';

const door = new URL('./index.js', import.meta.url).href;

/** What a process that logs these statements writes to standard error. */
function logged(level: string, format: string, statements: string): string[] {
  const script = `
    import { createLogger } from ${JSON.stringify(door)};
    const log = createLogger({ level: '${level}', format: '${format}', fields: { process: 'test' } });
    ${statements}`;
  const { stderr, stdout } = spawnSync(process.execPath, toScriptArguments(script), { encoding: 'utf8' });
  expect(stdout).to.equal('');
  return stderr.split('\n').filter(line => line !== '');
}

describe('logger', () => {
  it('writes one JSON line with a constant message and the fields beside it', () => {
    const [line = ''] = logged(
      'info',
      'json',
      `log.with({ loop: 'scheduler' }).info('replica placed', { node: 'n1' });`,
    );
    const { time, ...rest } = JSON.parse(line) as Record<string, unknown>;
    expect(rest).to.deep.equal({
      level: 'info',
      message: 'replica placed',
      process: 'test',
      loop: 'scheduler',
      node: 'n1',
    });
    expect(Date.parse(String(time))).to.be.above(0);
  });

  it('writes name, message and stack of an error', () => {
    const [line = ''] = logged('info', 'json', `log.error('it failed', { error: new TypeError('because') });`);
    const { error } = JSON.parse(line) as { error: { name: string; message: string; stack: string } };
    expect([error.name, error.message]).to.deep.equal(['TypeError', 'because']);
    expect(error.stack).to.include('TypeError');
  });

  it('omits lines below its level', () => {
    expect(logged('warn', 'json', `log.debug('a'); log.info('b'); log.warn('c');`)).to.have.length(1);
  });

  it('writes plain text in the format pretty', () => {
    const [line] = logged('info', 'pretty', `log.info('replica placed', { node: 'n1', count: 2 });`);
    expect(line).to.match(/^\d\d:\d\d:\d\d\.\d{3} info {2}replica placed process=test node=n1 count=2$/);
  });
});
