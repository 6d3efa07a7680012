import { isTestCode, type Source } from './source-files.js';

/** Where the API commits: the one way to write, and the door of the agents, who write what they have seen. */
const ROOMS = /^api\/(?:write|routes\/agent)\//;
const COMMITS = /\.commit\(/;
const WRITERS = /import \{[^}]*\b(?:create|replace|remove|update)\b[^}]*\} from '[^']*pkg\/store\/index\.js'/;

/** Places in the API that change the store themselves, past `api/write`. */
export function findOwnCommits(sources: readonly Source[]): string[] {
  const judged = sources.filter(({ path }) => path.startsWith('api/') && !isTestCode(path) && !ROOMS.test(path));
  return judged
    .filter(({ text }) => [COMMITS, WRITERS].some(each => text.search(each) >= 0))
    .map(({ path }) => `${path}: changes the store itself; supply judge and plan to api/write`);
}
