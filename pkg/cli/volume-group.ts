import { type Command as Commander, Option } from 'commander';

import { addList, type Options, parseCount, parseDurationOption, type Run } from './options.js';

/** `moor volumes`, and what can be done with one. */
export function addVolumes(program: Commander, run: Run): void {
  const volumes = program.command('volumes').alias('volume').description('manage the storage that outlives containers');
  addList(volumes, run);
  volumes
    .command('create <name>')
    .description('create a volume; its node is chosen where none is named')
    .requiredOption('--size <amount>', 'how much it holds, as 10Gi')
    .addOption(
      new Option('--class <class>', 'whether its bytes are on one node only, or copied to others')
        .choices(['ephemeral', 'replicated', 'object'])
        .default('ephemeral'),
    )
    .addOption(new Option('--type <type>', 'how it reaches containers').choices(['volume', 'bind', 'tmpfs']))
    .option('--replicas <count>', 'copies on other nodes, of class replicated', parseCount)
    .option('--node <name>', 'the node that is to have its bytes, by name or id')
    .option('--country <code>', 'the only country that its bytes may be in')
    .option('--region <name>', 'the only region that its bytes may be in')
    .option('--dry-run', 'print what would happen, and change nothing')
    .action((name: string, options: { size: string; class: string }) =>
      run(async () => (await import('./commands/volumes.js')).createVolume, { name, ...options }),
    );
  volumes
    .command('describe <name>')
    .description('show where its bytes are, who mounts it and its events')
    .action((name: string) =>
      run(async () => (await import('./commands/describe.js')).describe, { kind: 'volume', name }),
    );
  volumes
    .command('grow <name>')
    .description('change the size of a volume while it is in use, and wait until it has it')
    .requiredOption('--size <amount>', 'how much it is to hold, as 20Gi')
    .option('--shrink', 'allow a size that is smaller than the present one')
    .option('--no-wait', 'do not wait')
    .option('--timeout <duration>', 'give up waiting after this long', parseDurationOption)
    .option('--dry-run', 'print what would happen, and change nothing')
    .action((name: string, options: { size: string; wait: boolean }) =>
      run(async () => (await import('./commands/volumes.js')).growVolume, { name, ...options }),
    );
  volumes
    .command('move <name>')
    .description(
      'move the primary of a replicated volume to another node without losing a byte, and wait until it is there',
    )
    .option('--to <node>', 'the node, by name or id')
    .option('--cancel', 'end a move that was asked for: the volume stays where it is')
    .option('--no-wait', 'do not wait')
    .option('--timeout <duration>', 'give up waiting after this long', parseDurationOption)
    .option('--dry-run', 'print what would happen, and change nothing')
    .action((name: string, options: { wait: boolean }) =>
      run(async () => (await import('./commands/move-volume.js')).moveVolume, { name, ...options }),
    );
  volumes
    .command('delete <name>')
    .description(
      'delete a volume; refused while something mounts it. Its bytes are kept on the machine for the time that its agent is set to',
    )
    .option('--wait', 'until its node has removed it')
    .action((name: string, { wait = false }: { wait?: boolean }) =>
      run(async () => (await import('./commands/delete.js')).deleteObject, { kind: 'volume', name, wait }),
    );
  const replicas = volumes.command('replicas').description('add and remove copies of a replicated volume');
  const change = async () => (await import('./commands/replicas.js')).changeReplicas;
  replicas
    .command('add <name> <node>')
    .description('ask for one more copy, on this node')
    .option('--wait', 'until the copy is complete, and show how far it is')
    .option('--timeout <duration>', 'give up waiting after this long', parseDurationOption)
    .action((name: string, node: string, options: Options) => run(change, { name, node, change: 'add', ...options }));
  replicas
    .command('remove <name> <node>')
    .description('remove the copy on this node, with its bytes, once they are elsewhere')
    .option('--force', 'at once, with what only this node has')
    .action((name: string, node: string, options: Options) =>
      run(change, { name, node, change: 'remove', ...options }),
    );
  const divergent = volumes.command('divergent').description('what former primaries have set aside, each on its node');
  divergent
    .command('list <name>')
    .description('list what was set aside of a volume')
    .action((name: string) => run(async () => (await import('./commands/divergent.js')).listDivergent, { name }));
  divergent
    .command('delete <name> <node> <kept>')
    .description('remove what was set aside on a node, by the name that list shows; no other node has it')
    .option('--dry-run', 'print what would happen, and change nothing')
    .action((name: string, node: string, kept: string, options: Options) =>
      run(async () => (await import('./commands/divergent.js')).deleteDivergent, { name, node, kept, ...options }),
    );
}
