import { writeFileSync } from 'node:fs';

import type { Backup } from '../../../crds/backup/index.js';
import { formatCount } from '../../../crds/grammar/index.js';
import { readManifests } from '../documents.js';
import { exitCode, UsageFault } from '../../terminal/index.js';
import { backups } from '../kinds.js';
import { formatDocument, stripControls } from '../print/text.js';
import type { Command, Session } from '../session.js';
import type { DeploymentView } from '../../../crds/deployment/index.js';

type BackupView = Backup & { readonly metadata: unknown };

interface BackupInput {
  readonly id: string;
}

function printStored(
  { terminal, ink }: Session,
  { id, deploymentName, revisions, specHash }: Backup,
  done: string,
): void {
  const content = `${formatCount(revisions.length, 'revision')}, spec ${specHash}`;
  terminal.out(`backup/${id} ${ink.green(done)}: deployment ${stripControls(deploymentName)}, ${content}\n`);
}

/** Copies the configuration of a deployment with its history. */
export const createBackup: Command<{ readonly name: string }> = async (session, { name }) => {
  const client = await session.connect();
  const answer = await client.request<BackupView>('POST', backups.path, { body: { deploymentName: name } });
  if (!answer.ok) return session.reportRejection(answer);
  printStored(session, answer.value, 'created');
  return exitCode.ok;
};

/** Brings the configuration of a backup back, or says what that would change. */
export const restoreFromBackup: Command<BackupInput & { readonly dryRun?: boolean }> = async (
  session,
  { id, dryRun },
) => {
  const { terminal, ink } = session;
  const client = await session.connect();
  const query = dryRun ? { dryRun: 'true' } : {};
  const answer = await client.request<DeploymentView & { readonly change?: string; readonly object?: DeploymentView }>(
    'POST',
    `${backups.pathOf(id)}/restore`,
    { query },
  );
  if (!answer.ok) return session.reportRejection(answer);
  const { object, change, warnings = [] } = answer.value;
  if (object) {
    terminal.out(await formatDocument(answer.value, 'yaml'));
    terminal.err(`nothing was changed; the change would be: ${change}\n`);
    return exitCode.ok;
  }
  const { name, metadata } = answer.value;
  const done = ink.green('restored');
  terminal.out(`deployment/${name} ${done}: revision ${metadata.generation}, spec ${metadata.specHash}\n`);
  for (const { code, message } of warnings)
    terminal.err(`${ink.yellow('warning')} ${code}: ${stripControls(message)}\n`);
  return exitCode.ok;
};

/** Prints a backup as the file that an import takes, or writes it. */
export const exportBackup: Command<BackupInput & { readonly file?: string }> = async (session, { id, file }) => {
  const { terminal } = session;
  const client = await session.connect();
  const answer = await client.request<BackupView>('GET', backups.pathOf(id));
  if (!answer.ok) return session.reportRejection(answer);
  const { metadata: _, ...backup } = answer.value;
  const text = await formatDocument(backup, 'json');
  if (file === undefined || file === '-') terminal.out(text);
  else {
    writeFile(file, text);
    printStored(session, backup, `exported to ${file}`);
  }
  return exitCode.ok;
};

/** An older file of that name is not overwritten: it may be the only copy of another backup. */
function writeFile(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: 'wx' });
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw new UsageFault(`${file} exists: remove it, or choose another name.`);
    throw new UsageFault(`${file} cannot be written (${code}).`);
  }
}

/** Stores a backup from a file, of this installation or of another. */
export const importBackup: Command<{ readonly file: string }> = async (session, { file }) => {
  const manifests = await readManifests(file, session.terminal);
  const [manifest] = manifests;
  if (!manifest || manifests.length > 1) throw new UsageFault(`${file}: must contain one backup, as it was exported.`);
  const client = await session.connect();
  const answer = await client.request<BackupView>('POST', `${backups.path}/import`, { body: manifest.value });
  if (!answer.ok) return session.reportRejection(answer, manifest.locate);
  printStored(session, answer.value, answer.status === 201 ? 'imported' : 'already imported');
  return exitCode.ok;
};
