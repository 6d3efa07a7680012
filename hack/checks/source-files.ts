import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** A source file, as the checks read it. */
export interface Source {
  readonly path: string;
  readonly text: string;
}

const IMPORT = /(?:^|\n)\s*(?:import|export)\s(?:[^;'"]*?\sfrom\s)?['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)/g;

/** Every TypeScript file, or every file of these patterns, that git tracks or would track, relative to the project's root. */
export function listSourceFiles(patterns: readonly string[] = ['*.ts', '*.tsx']): string[] {
  const list = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '--', ...patterns], {
    encoding: 'utf8',
  });
  return [...new Set(list.split('\n'))].filter(path => path !== '' && existsSync(path)).sort();
}

/** Every such file with its text. */
export function readSources(patterns?: readonly string[]): Source[] {
  return listSourceFiles(patterns).map(path => ({ path, text: readFileSync(path, 'utf8') }));
}

/** What a file imports or re-exports, type imports included, as it is written there. */
export function listImports({ text }: Source): string[] {
  return [...text.matchAll(IMPORT)].map(([, from, dynamic]) => (from ?? dynamic) as string);
}

/** The source file that a relative import means. */
export function resolveImport(path: string, specifier: string): string {
  const target = normalize(join(dirname(path), specifier)).replace(/\.js$/, '');
  return existsSync(`${target}.tsx`) ? `${target}.tsx` : specifier.endsWith('.js') ? `${target}.ts` : target;
}

/** Whether a file exists for tests only: a test, a contract that several tests run, or a helper of tests. */
export function isTestCode(path: string): boolean {
  return /\.(?:test|testing|contract)\.ts$/.test(path);
}
