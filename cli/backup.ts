// `tetrad backup DIR` copies all databases, with or without a running server. `tetrad restore DIR` creates a data
// folder from such a copy. Both verify the result.
import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { Manifest } from '#storage/backup.ts'
import packageManifest from '../package.json' with { type: 'json' }
import { queryOwner } from './data-owner.ts'
import { docsPage } from './docs-page.ts'
import { CommandFailure } from './failure.ts'
import { counted, printResult } from './print.ts'
import { withActivity } from './progress.ts'
import { clock } from './runtime.ts'
import { type CommonOptions, configOf, dataDirOf } from './settings.ts'

export function addBackup(program: Command): void {
  program
    .command('backup')
    .description('Copy all databases into a new folder and verify the copy. The server may keep running.')
    .argument('<dir>', 'a folder that does not exist yet, or is empty')
    .addHelpText(
      'after',
      '\nBefore a new version changes tables, it makes such a copy itself, in upgrade-backups in the data folder\n' +
        '(setting store.upgradeBackups).',
    )
    .action((dir: string, _: unknown, command: Command) => backup(resolve(dir), command.optsWithGlobals()))

  program
    .command('restore')
    .description('Create a data folder from a backup. The backup and the new folder are verified.')
    .argument('<dir>', 'a folder that backup created')
    .addHelpText(
      'after',
      '\nThe data folder (--data) must not exist yet, or be empty. A restore that was interrupted starts again.',
    )
    .action((dir: string, _: unknown, command: Command) => restore(resolve(dir), command.optsWithGlobals()))
}

/** PostgreSQL has its own backup tools (behaviour/operations.md#backup). */
async function refuseSharedState(options: CommonOptions, advice: string): Promise<void> {
  const { store } = (await configOf(options)).settings
  if (store.state === '') return
  throw new CommandFailure(
    'backup.elsewhere',
    `The state is in PostgreSQL, not in the data folder: ${advice} See ${docsPage('scaling')}.`,
  )
}

async function backup(target: string, options: CommonOptions): Promise<void> {
  await refuseSharedState(
    options,
    'back it up with pg_dump --format=custom or, if it is large, with base backups and an archive of the WAL.',
  )
  const { copyStores, listFolder, removeCopies } = await import('#storage/backup.ts')
  const { sealBackup } = await import('#storage/seal-backup.ts')
  if ((await listFolder(target)).length > 0)
    throw new CommandFailure('backup.not_empty', `${target} is not empty; choose a new folder.`)
  const madeAtMs = clock.now()
  const copyAndVerify = async (show: (text: string) => void): Promise<Manifest> => {
    await queryOwner<unknown>(options, {
      name: 'copyStores',
      input: { dir: target },
      runInProcess: ({ ingest }) => copyStores(dataDirOf(options), ingest, target),
    })
    show('Verifying the copy')
    return sealBackup(target, madeAtMs, packageManifest.version).catch(async (error: unknown) => {
      // The copies of a server of another user may not be removable. The first error says more.
      await removeCopies(target).catch(() => {})
      throw error
    })
  }
  const manifest = await withActivity('Copying the databases', copyAndVerify, { quiet: options.json })
  printBackupReport(options, `Backed up into ${target}`, target, manifest)
}

async function restore(source: string, options: CommonOptions): Promise<void> {
  await refuseSharedState(options, 'restore it with pg_restore into an empty database, or from a base backup.')
  const { isUsed, restoreBackup } = await import('#storage/restore.ts')
  const dataDir = dataDirOf(options)
  if (await isUsed(dataDir))
    throw new CommandFailure(
      'backup.not_empty',
      `The data folder ${resolve(dataDir)} is not empty. Choose a new folder with --data.`,
    )
  const restoring = 'Restoring and verifying'
  const manifest = await withActivity(restoring, () => restoreBackup(source, dataDir), { quiet: options.json })
  printBackupReport(options, `Restored into ${resolve(dataDir)}, as of ${manifest.madeAt}`, resolve(dataDir), manifest)
}

function printBackupReport(
  options: CommonOptions,
  summary: string,
  dir: string,
  { madeAt, version, files, rows }: Manifest,
): void {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  const count = [rows.state, rows.ingest, rows.duties]
    .flatMap((tables) => Object.values(tables))
    .reduce((sum, rowCount) => sum + rowCount, 0)
  const text = `${summary}: ${(bytes / 2 ** 20).toFixed(1)} MiB, ${counted(count, 'row')}, verified.`
  printResult(options, { dir, madeAt, version, files, rows }, text)
}
