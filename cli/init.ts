// `tetrad init`: asks for the URLs of nodes and feeds, tests each, and writes a configuration file.
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { isNetworkName, type Network } from '#api/contract/wire/networks.ts'
import type { DoctorFinding } from '#operations/diagnosis.ts'
import { namedNetworkOption } from './beacon.ts'
import { formatFinding } from './doctor.ts'
import { CommandFailure } from './failure.ts'
import { configText, type FoundSources, ownDataDir, type SourceKind } from './init-file.ts'
import { findSource, type ReportedBeacon, settingsOf } from './init-source.ts'
import { ownCommand } from './own-command.ts'
import { note, paint, print, printJson } from './print.ts'
import { clock } from './runtime.ts'
import { type CommonOptions, httpAddress } from './settings.ts'

const defaultFile = 'tetrad.yaml'

type Urls = Partial<Record<SourceKind, string>>
type Options = CommonOptions & Urls & { readonly offline?: boolean; readonly network?: Network }

const questions: Readonly<Record<SourceKind, string>> = {
  rpc: 'JSON-RPC URL of an archive node, for the explorer',
  rates: 'URL of a document with exchange rates, for FX',
  beacon: 'Beacon API URL, for validators',
  markets: 'URL of a list of markets',
}
const kinds = Object.keys(questions) as SourceKind[]

export function addInit(program: Command): void {
  const command = program
    .command('init')
    .description(
      'Write a configuration file for your own nodes and feeds. Asks for their URLs, unless options contain one, and tests each.',
    )
  for (const kind of kinds) command.option(`--${kind} <url>`, questions[kind])
  command
    .addOption(namedNetworkOption('name of the network of the beacon node, if the node has none'))
    .option('--offline', 'do not contact nodes and feeds')
    .action((_: unknown, command: Command) => init(command.optsWithGlobals()))
}

async function init(options: Options): Promise<void> {
  const file = options.config ?? (process.env.TETRAD_CONFIG || defaultFile)
  refuseExisting(file, existsSync(file))
  const isAsking = kinds.every((kind) => options[kind] === undefined)
  const found = isAsking ? await askForSources(options) : await checkSources(options)
  if (Object.keys(found).length === 0) throw new CommandFailure('init.nothing', 'No URL was given. Nothing is written.')
  await writeFile(file, configText(found), { flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    refuseExisting(file, error.code === 'EEXIST')
    throw error
  })
  if (options.json) return printJson({ file, sources: Object.keys(found) })
  print(`${paint('ok', 'Written:')} ${file}`)
  const command = `${ownCommand()}${file === defaultFile ? '' : ` --config ${file}`}`
  note(`Data folder: ${ownDataDir} (store.dir). Next:
  ${command} serve
  ${command} keys create --name me --plan enterprise`)
}

function refuseExisting(file: string, exists: boolean): void {
  if (!exists) return
  throw new CommandFailure('init.exists', `${file} exists. Edit it, or choose another file with --config.`)
}

/** For scripts: any failed check is an error, and no file is written. */
async function checkSources(options: Options): Promise<FoundSources> {
  const found: { -readonly [Kind in SourceKind]?: FoundSources[Kind] } = {}
  let failures = 0
  for (const kind of kinds) {
    const url = options[kind]
    if (url === undefined) continue
    const { source, findings } = await checkSource(kind, url, options)
    if (findings.some(({ level }) => level === 'fail')) failures += 1
    else Object.assign(found, { [kind]: source })
    report(findings)
  }
  if (failures > 0)
    throw new CommandFailure('init.failed', 'A check failed, so nothing is written. --offline skips the checks.')
  return found
}

/** For a chain that has no name. */
const suggestedName = 'devnet'

async function checkSource(kind: SourceKind, text: string, options: Options, askName?: AskName) {
  const { offline = false, json = false } = options
  const url = httpAddress(text)
  // A host that does not respond takes seconds. The URL may contain a key, so only the host is shown.
  if (!offline && !json) note(`Testing ${new URL(url).host} …`)
  const reported = await findSource(kind, url, offline)
  const source = kind === 'beacon' ? await withName(reported as ReportedBeacon, options, askName) : reported
  if (offline) return { source, findings: [] }
  const { connectivityFindings } = await import('#operations/connectivity.ts')
  const findings = await connectivityFindings({ settings: settingsOf({ [kind]: source }), clock })
  // The clock is a topic of `tetrad doctor`.
  return { source, findings: findings.filter(({ name }) => name !== 'clock') }
}

type AskName = (question: string) => Promise<string>

/** Never assumes a network: figures of a private chain must not appear as those of mainnet. */
async function withName(
  { url, network, reason, isSilent }: ReportedBeacon,
  options: Options,
  askName: AskName | undefined,
): Promise<NonNullable<FoundSources['beacon']>> {
  const known = options.network ?? network
  if (known !== undefined) return { url, network: known }
  // The check reports why the node did not respond.
  if (!askName && isSilent && !options.offline) return { url, network: suggestedName }
  if (!askName)
    throw new CommandFailure(
      'init.network',
      `The network needs a name: ${options.offline ? 'the node is not asked' : reason}. Pass --network NAME, for example --network ${suggestedName}.`,
    )
  for (;;) {
    const name = (await askName(`Name of the network (${reason}) [${suggestedName}]: `)).trim() || suggestedName
    if (isNetworkName(name)) return { url, network: name }
    note('A name has lower-case letters, digits and hyphens, and begins with a letter.')
  }
}

function report(findings: readonly DoctorFinding[]): void {
  for (const finding of findings) note(formatFinding(finding, process.stderr))
}

async function askForSources(options: Options): Promise<FoundSources> {
  if (!process.stdin.isTTY) {
    const names = kinds.map((kind) => `--${kind}`).join(', ')
    throw new CommandFailure('init.no_terminal', `There is no terminal to ask on. Pass at least one of ${names}.`)
  }
  const { createInterface } = await import('node:readline/promises')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  // Ctrl-C and Ctrl-D close the terminal; otherwise a question would never end.
  const closed = new Promise<never>((_, reject) =>
    terminal.once('close', () => reject(new CommandFailure('init.stopped', 'Stopped. Nothing is written.'))),
  )
  closed.catch(() => {})
  // `closed` is first: it also says so if the input ended before the question.
  const ask = (question: string) => Promise.race([closed, terminal.question(question)])
  note('Press Enter to skip a source. You can add it to the file later.')
  const found = {}
  try {
    for (const kind of kinds) {
      for (let isDone = false; !isDone; ) {
        const url = (await ask(`${questions[kind]}: `)).trim()
        if (url === '') break
        isDone = await addIfWanted(kind, url)
      }
    }
  } finally {
    terminal.close()
  }
  return found

  async function addIfWanted(kind: SourceKind, text: string): Promise<boolean> {
    const url = await askForScheme(text)
    if (url === undefined) return false
    const { source, findings } = await checkSource(kind, url, options, ask)
    report(findings)
    const hasFailed = findings.some(({ level }) => level === 'fail')
    if (hasFailed && !/^y/i.test(await ask('Use it anyway? [y/N] '))) return false
    Object.assign(found, { [kind]: source })
    return true
  }

  /** `localhost:8545` has no scheme. Undefined if it is no URL, or not wanted. */
  async function askForScheme(text: string): Promise<string | undefined> {
    if (/^https?:$/.test(URL.parse(text)?.protocol ?? '')) return text
    const url = `http://${text}`
    if (text.includes('://') || !URL.canParse(url)) {
      note(`${text} is not an http or https URL.`)
      return undefined
    }
    return /^n/i.test(await ask(`${text} has no scheme. Use ${url}? [Y/n] `)) ? undefined : url
  }
}
