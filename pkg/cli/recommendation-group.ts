import { Argument, type Command as Commander, Option } from 'commander';

import { recommendationPriorities, recommendationTypes } from '../../crds/recommendation/index.js';
import { type Options, outputOption, parseCount, type Run } from './options.js';
import type { OutputFormat } from './print/text.js';

/** `moor recommendations`, and what can be done with one. */
export function addRecommendations(program: Commander, run: Run): void {
  const commands = () => import('./commands/recommendations.js');
  const group = program
    .command('recommendations')
    .description('list what would make volumes safer or cheaper, the most urgent first')
    .addOption(new Option('--priority <priority>', 'only those').choices([...recommendationPriorities]))
    .addOption(new Option('--type <type>', 'only those').choices([...recommendationTypes]))
    .addOption(outputOption())
    .action((options: { output: OutputFormat }) => run(async () => (await commands()).listRecommendations, options));
  group
    .command('apply <id>')
    .description('apply one to what was measured')
    .option('--size <amount>', 'another size than the recommended one, as 20Gi')
    .option('--replicas <count>', 'another number of replicas than the recommended one', parseCount)
    .option('--dry-run', 'print what would happen, where, and how long it may take; change nothing')
    .action((id: string, options: Options) => run(async () => (await commands()).applyAdvice, { id, ...options }));
  group
    .command('auto-apply')
    .description('have volumes that are nearly full grown by themselves, within the quota; without on or off, show it')
    .addArgument(new Argument('[switch]').choices(['on', 'off']))
    .action((state: 'on' | 'off' | undefined) =>
      run(async () => (await commands()).autoApply, { growth: state === undefined ? undefined : state === 'on' }),
    );
}
