// `tetrad …`: the commands, each in a file of its own that is loaded when it is called, so that the quick ones stay
// quick. This file knows how a command line is read and how every command ends (behaviour/operations.md#exit-codes).
import { Command, CommanderError } from 'commander'
import { withoutKeys } from '#core/key.ts'
import { renamePath } from '#runtime/path-error.ts'
import manifest from '../package.json' with { type: 'json' }
import { addBackup } from './backup.ts'
import { addBeacon } from './beacon.ts'
import { addChains } from './chains.ts'
import { addConfig } from './config.ts'
import { addConform } from './conformance.ts'
import { addConsole } from './console.ts'
import { addCoverage } from './coverage.ts'
import { addDoctor } from './doctor.ts'
import { addEntities } from './entities.ts'
import { describeFailure, exitFailed, exitUsage, type FailureReport } from './failure.ts'
import { addFx } from './fx.ts'
import { addImport } from './import.ts'
import { addIngest } from './ingest.ts'
import { addKeys } from './keys.ts'
import { addLabels } from './labels.ts'
import { addMarkets } from './markets.ts'
import { addMove } from './move.ts'
import { addOpenapi } from './openapi.ts'
import { addServe } from './serve.ts'
import { commonOptions } from './settings.ts'
import { addTrail } from './trail.ts'
import { addValidators } from './validators.ts'

const examples = `
Examples:
  $ tetrad serve                                          the demo world on http://127.0.0.1:8080
  $ tetrad serve --config tetrad.yaml --port 9000         your own sources
  $ tetrad keys create --name ci --plan enterprise        a key, shown once
  $ tetrad config check --config tetrad.yaml              is the file right?
  $ tetrad ask markets.bySlug --slug some-market          one call to a running server

Exit codes: 0 done, 1 failed, 2 the command line was not understood, 3 done in part: something was left over.`

export async function main(args: readonly string[]): Promise<void> {
  // Whatever a command writes, stores, copies and rejects, is for its owner only.
  process.umask(0o077)
  const json = args.includes('--json')
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // `tetrad openapi | head -1`: the reader has what it wanted.
    if (error.code === 'EPIPE') process.exit(0)
    fail(describeFailure(renamePath(error, 'standard output')), exitFailed, json)
    process.exit()
  })
  try {
    const program = await buildProgram(args, json)
    refuseUnknownTopic(program, args)
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) return fail(describeFailure(error), exitFailed, json)
    if (error.exitCode === 0) return
    process.exitCode = exitUsage
    if (json) fail({ code: 'usage', message: formatUsageError(error) }, exitUsage, json)
  }
}

async function buildProgram(args: readonly string[], json: boolean): Promise<Command> {
  const program = new Command('tetrad')
    .description(manifest.description)
    .version(manifest.version)
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      outputError: (text, write) => {
        if (!json) write(withoutKeys(text.replace(/^error: /, 'tetrad: ')))
      },
      ...(json && { writeErr: () => {} }),
    })
    .showHelpAfterError('Try --help.')
    .addHelpText('after', examples)
  commonOptions(program)
  addServe(program)
  addKeys(program)
  addConsole(program)
  addLabels(program)
  addTrail(program)
  addConfig(program)
  addChains(program)
  addIngest(program)
  addBeacon(program)
  addValidators(program)
  addImport(program)
  addEntities(program)
  addMarkets(program)
  addFx(program)
  addCoverage(program)
  addDoctor(program)
  addBackup(program)
  addMove(program)
  addConform(program)
  // The contract takes a moment to load, and only this command's options are made of it.
  if (args.includes('ask')) (await import('./ask.ts')).addAsk(program)
  else program.command('ask').description('Ask a running server; one subcommand per endpoint.')
  addOpenapi(program)
  return program
}

/** `tetrad help nope`: the library would show the general help and not a word about nope. */
function refuseUnknownTopic(program: Command, args: readonly string[]): void {
  let here = program
  let isHelp = false
  for (const topic of args) {
    if (topic.startsWith('-')) return
    if (topic === 'help' && !isHelp) {
      isHelp = true
      continue
    }
    const next = here.commands.find((command) => command.name() === topic)
    if (!next && isHelp) here.error(`error: unknown command '${topic}'`)
    if (!next) return
    here = next
  }
}

function formatUsageError(error: CommanderError): string {
  if (error.code === 'commander.help') return 'Name a command; --help lists them.'
  return withoutKeys(error.message.replace(/^error: /, '').replaceAll('\n', ' '))
}

function fail(report: FailureReport, exitCode: number, json: boolean): void {
  process.exitCode = exitCode
  process.stderr.write(`${json ? JSON.stringify({ error: report }) : `tetrad: ${report.message}`}\n`)
}
