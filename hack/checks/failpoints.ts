import { failpoints } from '../../pkg/failpoint/index.js';
import type { Source } from './source-files.js';

/** At a step, or given to `api/write`, which passes the two in turn. */
const PASSED = /\bfailpoint\('([^']+)'\)|\bpoints: \['([^']+)', '([^']+)'\]/g;

/** Two questions to every failpoint: passed at exactly one place? and named in some test? */
export function judgeFailpoints(names: readonly string[], sources: readonly Source[]): string[] {
  const isTest = ({ path }: Source) => path.endsWith('.test.ts');
  const isAboutThem = ({ path }: Source) => /^(?:pkg\/failpoint|hack)\//.test(path);
  const subjects = sources.filter(source => !isAboutThem(source));
  const passed = subjects
    .filter(source => !isTest(source))
    .flatMap(({ text }) =>
      [...text.matchAll(PASSED)].flatMap(([, ...names]) => names.filter(name => name !== undefined)),
    );
  const tests = subjects.filter(isTest);
  return names.flatMap(name => {
    const places = passed.filter(each => each === name).length;
    return [
      ...(places === 1 ? [] : [`failpoint ${name}: passed at ${places} places, not at one`]),
      ...(tests.some(({ text }) => text.includes(`'${name}'`)) ? [] : [`failpoint ${name}: named in no test`]),
    ];
  });
}

/** Failpoints that are passed nowhere or at several places, or that no test names. */
export function checkFailpoints(sources: readonly Source[]): string[] {
  return judgeFailpoints(Object.keys(failpoints), sources);
}
