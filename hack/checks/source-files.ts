import { execFileSync } from 'node:child_process';

/** Every TypeScript file that git tracks or would track, relative to the project's root. */
export function sourceFiles(): string[] {
  const list = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '--', '*.ts'], {
    encoding: 'utf8',
  });
  return [...new Set(list.split('\n'))].filter(path => path !== '').sort();
}
