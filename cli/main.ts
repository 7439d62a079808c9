// The `tetrad` command: registers the subcommands, parses the command line and ends with an exit code
// (behaviour/operations.md#exit-codes). Each command loads its code when it runs, so that short commands stay fast.
import { type Command, CommanderError } from 'commander'
import { withoutKeys } from '#core/key.ts'
import { renamePath } from '#runtime/path-error.ts'
import { lowerProcessPriority } from '#runtime/priority.ts'
import manifest from '../package.json' with { type: 'json' }
import { addAlerts } from './alerts.ts'
import { addBackup } from './backup.ts'
import { addBeacon } from './beacon.ts'
import { addChains } from './chains.ts'
import { CommandLine } from './command-line.ts'
import { addCompletion } from './completion.ts'
import { addConfig } from './config.ts'
import { addConformance } from './conformance.ts'
import { addConsole } from './console.ts'
import { addCoverage } from './coverage.ts'
import { addDoctor } from './doctor.ts'
import { addEntities } from './entities.ts'
import { addExamples } from './examples.ts'
import { addExport } from './export.ts'
import { describeFailure, exitFailed, exitUsage, type FailureReport, UsageFailure } from './failure.ts'
import { addFundings } from './fundings.ts'
import { addFx } from './fx.ts'
import { addImport } from './import.ts'
import { addIngest } from './ingest.ts'
import { addInit } from './init.ts'
import { addKeys } from './keys.ts'
import { addLabels } from './labels.ts'
import { addMarkets } from './markets.ts'
import { addMcp } from './mcp.ts'
import { addMove } from './move.ts'
import { bold, note, paint } from './print.ts'
import { redrawLine } from './progress.ts'
import { addRetention } from './retention.ts'
import { addServe } from './serve.ts'
import { commonOptions, useConfiguredData } from './settings.ts'
import { addSimulator } from './simulator.ts'
import { reportInterrupts } from './stop.ts'
import { addTrail } from './trail.ts'
import { addValidators } from './validators.ts'
import { addCompare } from './validators-compare.ts'
import { addEntity } from './validators-entity.ts'
import { addForget } from './validators-forget.ts'
import { addIncome } from './validators-income.ts'

const examples = `
Examples:
  $ tetrad serve                                          demo data on http://127.0.0.1:8080
  $ tetrad serve --config tetrad.yaml --port 9000         your own data
  $ tetrad keys create --name ci --plan enterprise        create a key
  $ tetrad config check --config tetrad.yaml              check the configuration
  $ tetrad ask markets.bySlug --slug some-market          call a running server

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 partly done.`

/** They read or write so much that requests to a server on the same machine would wait for a core. */
const bulkCommands: ReadonlySet<string> = new Set(['audit', 'backup', 'export', 'import', 'ingest', 'repair'])

export async function main(args: readonly string[]): Promise<void> {
  // Files that commands write are readable by their owner only.
  process.umask(0o077)
  const json = args.includes('--json')
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // For example `tetrad config show | head -1`.
    if (error.code === 'EPIPE') process.exit(0)
    fail(describeFailure(renamePath(error, 'standard output')), exitFailed, json)
    process.exit()
  })
  reportInterrupts((text) => {
    redrawLine('')
    note(text)
  })
  try {
    const program = await buildProgram(args, json)
    refuseUnknownTopic(program, args)
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError))
      return fail(describeFailure(error), error instanceof UsageFailure ? exitUsage : exitFailed, json)
    if (error.exitCode === 0) return
    process.exitCode = exitUsage
    if (json) fail({ code: 'usage', message: formatUsageError(error) }, exitUsage, json)
  }
}

export async function buildProgram(args: readonly string[], json: boolean): Promise<Command> {
  const program = new CommandLine('tetrad')
    .description(manifest.description)
    .version(manifest.version)
    .exitOverride()
    .configureHelp({ showGlobalOptions: true, styleTitle: (text) => bold(text) })
    .configureOutput({
      outputError: (text, write) => {
        if (!json) write(`${paint('error', 'tetrad:', process.stderr)} ${plainUsageText(text)}`)
      },
      ...(json && { writeErr: () => {} }),
    })
    .addHelpText('after', examples)
  commonOptions(program).hook('preAction', async (_, command) => {
    const names = [command.name(), command.parent?.name() ?? '']
    if (names.some((name) => bulkCommands.has(name))) lowerProcessPriority()
    await useConfiguredData(command)
  })
  addServe(program)
  addInit(program)
  addKeys(program)
  addConsole(program)
  addLabels(program)
  addTrail(program)
  addFundings(program)
  addConfig(program)
  addChains(program)
  const ingest = addIngest(program)
  const validators = program
    .command('validators')
    .description('Explain scores and entities of validators, audit rewards, show alerts.')
  addBeacon(ingest, validators)
  addValidators(validators)
  addIncome(validators)
  addCompare(validators)
  addEntity(validators)
  addForget(validators)
  addAlerts(validators)
  addEntities(addImport(program))
  addMarkets(program, ingest)
  addFx(program)
  addCoverage(program)
  addDoctor(program)
  addBackup(program)
  addMove(program)
  addRetention(program)
  addExport(program)
  addConformance(program)
  addSimulator(program)
  // Only this command's options need the contract, which is slow to load.
  if (args.includes('ask')) (await import('./ask.ts')).addAsk(program)
  else program.command('ask').description('Call an endpoint of a running server. Each endpoint is a subcommand.')
  addMcp(program)
  addExamples(program)
  addCompletion(program, () => buildProgram(['ask'], false))
  nameHelp(program, program.name())
  return program
}

/** After a usage error, the command that lists the options. */
function nameHelp(command: Command, path: string): void {
  command.showHelpAfterError(`See: ${path} --help`)
  for (const each of command.commands) nameHelp(each, `${path} ${each.name()}`)
}

/** Without this, `tetrad help nope` prints the general help. */
function refuseUnknownTopic(program: Command, args: readonly string[]): void {
  let current = program
  let isHelp = false
  for (const topic of args) {
    if (topic.startsWith('-')) return
    if (topic === 'help' && !isHelp) {
      isHelp = true
      continue
    }
    const next = current.commands.find((command) => command.name() === topic)
    if (!next && isHelp) current.error(`error: unknown command '${topic}'`)
    if (!next) return
    current = next
  }
}

function formatUsageError(error: CommanderError): string {
  if (error.code === 'commander.help') return 'No command given. --help lists the commands.'
  return plainUsageText(error.message).replaceAll('\n', ' ')
}

/** The text of commander, without its terms. */
const plainUsageText = (text: string): string =>
  withoutKeys(
    text
      .replace(/^error: /, '')
      .replace(/^command-argument value ('.*') is invalid for argument '(.*)'/, '$2 $1 is invalid'),
  )

function fail(report: FailureReport, exitCode: number, json: boolean): void {
  process.exitCode = exitCode
  process.stderr.write(
    `${json ? JSON.stringify({ error: report }) : `${paint('error', 'tetrad:', process.stderr)} ${report.message}`}\n`,
  )
}
