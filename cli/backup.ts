// `tetrad backup DIR` copies both stores, beside a running server or without one; `tetrad restore DIR` makes a data folder
// of such a copy. Both check what they have made before they say that it is done.
import { readdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { Manifest } from '#storage/backup.ts'
import manifestOfProgram from '../package.json' with { type: 'json' }
import { queryOwner } from './data-owner.ts'
import { CommandFailure } from './failure.ts'
import { print, printJson } from './print.ts'
import { type CommonOptions, configOf, dataDirOf } from './settings.ts'

export function addBackup(program: Command): void {
  program
    .command('backup')
    .description('Copy both stores into a new folder while the server runs, and check the copy.')
    .argument('<dir>', 'a folder that does not exist yet, or is empty')
    .action((dir: string, _: unknown, command: Command) => backup(resolve(dir), command.optsWithGlobals()))

  program
    .command('restore')
    .description('Make a data folder of a backup: checked before it is copied, opened and counted afterwards.')
    .argument('<dir>', 'what backup has made')
    .addHelpText(
      'after',
      '\nThe data folder (--data) must not exist yet, or be empty.\n\nExample:\n  $ tetrad restore /backups/monday --data ./data-restored',
    )
    .action((dir: string, _: unknown, command: Command) => restore(resolve(dir), command.optsWithGlobals()))
}

/** PostgreSQL has better ways of its own (behaviour/operations.md#backup). */
async function refuseSharedState(options: CommonOptions, todo: string): Promise<void> {
  const { store } = (await configOf(options)).settings
  if (store.state === '') return
  throw new CommandFailure(
    'backup.elsewhere',
    `The state is in PostgreSQL, not in the data folder: ${todo} See docs/scaling.md.`,
  )
}

/** One that cannot be looked into is left to whoever copies, who says what is wrong with it. */
async function refuseUsed(dir: string): Promise<void> {
  const there = await readdir(dir).catch(() => [])
  if (there.length > 0) throw new CommandFailure('backup.not_empty', `${dir} is not empty; name a new folder.`)
}

async function backup(target: string, options: CommonOptions): Promise<void> {
  await refuseSharedState(options, 'back it up with pg_dump --format=custom, or with what your database has for it.')
  await refuseUsed(target)
  const [{ copyStores, sealBackup }, { systemClock }] = await Promise.all([
    import('#storage/backup.ts'),
    import('#runtime/clock.ts'),
  ])
  const madeAtMs = systemClock.now()
  await queryOwner<unknown>(options, {
    name: 'copy',
    input: { dir: target },
    runHere: ({ duties }) => copyStores(dataDirOf(options), duties, target),
  })
  printBackupReport(
    options,
    `Backed up into ${target}`,
    target,
    await sealBackup(target, madeAtMs, manifestOfProgram.version),
  )
}

async function restore(source: string, options: CommonOptions): Promise<void> {
  await refuseSharedState(options, 'restore it with pg_restore into an empty database.')
  const { restoreBackup } = await import('#storage/backup.ts')
  const dataDir = dataDirOf(options)
  await refuseUsed(resolve(dataDir))
  const manifest = await restoreBackup(source, dataDir)
  printBackupReport(options, `Restored into ${resolve(dataDir)}, as of ${manifest.madeAt}`, resolve(dataDir), manifest)
}

function printBackupReport(
  options: CommonOptions,
  done: string,
  dir: string,
  { madeAt, version, files, rows }: Manifest,
): void {
  if (options.json) {
    printJson({ dir, madeAt, version, files, rows })
    return
  }
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  const count = [rows.state, rows.duties].flatMap((tables) => Object.values(tables)).reduce((sum, one) => sum + one, 0)
  print(`${done}: ${(bytes / 2 ** 20).toFixed(1)} MiB, ${count} rows, checked.`)
}
