import { isClone } from '../../pkg/version/index.js';

/** The command of Mooring, as the person who started this one types it. */
export function nameMoor(environment: NodeJS.ProcessEnv): string {
  if (isClone) return './moor';
  return environment['npm_command'] === 'exec' ? 'npx mooring' : 'moor';
}

/** How a program that is missing is installed. */
export function adviseInstall(program: string, debianPackage: string): string {
  if (isClone) return `Run "sh hack/setup.sh up" to install ${program}`;
  return `Install ${program} (on Debian and Ubuntu: apt-get install --no-install-recommends ${debianPackage})`;
}
