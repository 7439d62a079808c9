// Golden files: responses about known chains, byte for byte, in `test/golden/*.ndjson.zst` (`zstdcat` shows them). They
// do not depend on the database engine.
// - node test/golden.ts: compares all responses and lists every difference
// - node test/golden.ts --write: also writes the current responses
// - node test/golden.ts --only demo: only scenarios with this text in their name
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import type { Network } from '#api/contract/wire/validators.ts'
import { type GoldenRequest, type RequestPlan, requestsOf } from './golden-requests.ts'
import { scenarios } from './golden-worlds.ts'
import { publicUrl, type QuietServer } from './quiet-server.ts'

const folder = join(import.meta.dirname, 'golden')

export interface GoldenResponse {
  /** What had been ingested, and the network and path of the request. */
  readonly stage: string
  readonly request: string
  readonly status: number
  /** Only those that begin with x-tetrad-, without the code of an error: status and body show it. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const keyOf = ({ stage, request }: GoldenResponse): string => `${stage}: ${request}`

export function readGolden(file: string): Map<string, GoldenResponse> {
  const path = join(folder, `${file}.ndjson.zst`)
  if (!existsSync(path)) return new Map()
  const lines = zstdDecompressSync(readFileSync(path)).toString().trim().split('\n')
  return new Map(lines.map((text) => JSON.parse(text) as GoldenResponse).map((line) => [keyOf(line), line]))
}

export function writeGolden(file: string, lines: Iterable<GoldenResponse>): void {
  const text = Array.from(lines, (line) => `${JSON.stringify(line)}\n`).join('')
  const params = { [constants.ZSTD_c_compressionLevel]: 19, [constants.ZSTD_c_windowLog]: 24 }
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${file}.ndjson.zst`), zstdCompressSync(text, { params }))
}

/** All requests take too long for every run of the tests, so they are divided into parts. */
export const partsCount = 16
const allParts: readonly number[] = Array.from({ length: partsCount }, (_, part) => part)

/** The responses of one stage to the requests of these parts. */
export async function collectResponses(
  stage: string,
  server: QuietServer,
  plans: readonly RequestPlan[],
  parts: readonly number[] = allParts,
): Promise<GoldenResponse[]> {
  const isSelected = (at: number) => parts.includes(at % partsCount)
  const requests = plans.flatMap(requestsOf)
  const lines: GoldenResponse[] = []
  for (const request of requests.filter(({ isAlways }, at) => isAlways || isSelected(at)))
    lines.push(...(await pagesOf(stage, server, request)))
  for (const [at, name] of (['coverage', 'doctor'] as const).entries())
    if (isSelected(requests.length + at)) lines.push(await fetchReport(stage, server, name))
  return lines
}

async function fetchReport(stage: string, server: QuietServer, name: 'coverage' | 'doctor'): Promise<GoldenResponse> {
  const result = await server.control(name, { sample: 5 })
  const body = JSON.stringify(name === 'doctor' ? maskDoctor(result as Finding[]) : result, withoutSpeed)
  return { stage, request: `tetrad ${name}`, status: 200, headers: {}, body }
}

/** The response, and those of the following pages. */
async function pagesOf(stage: string, server: QuietServer, request: GoldenRequest): Promise<GoldenResponse[]> {
  const lines: GoldenResponse[] = []
  let path: string | undefined = request.path
  for (let page = 0; path !== undefined && page <= (request.pagesMax ?? 0); page++) {
    const line = await fetchResponse(stage, server, path, request.network)
    lines.push(line)
    path = nextOf(line.body)
  }
  return lines
}

async function fetchResponse(
  stage: string,
  server: QuietServer,
  path: string,
  network: Network,
): Promise<GoldenResponse> {
  const { status, headers, body } = await server.get(path, network)
  const kept = Object.entries(headers).filter(([name]) => name.startsWith('x-tetrad-') && name !== 'x-tetrad-fault')
  return { stage, request: `${network} ${path}`, status, headers: Object.fromEntries(kept.sort()), body }
}

function nextOf(body: string): string | undefined {
  const { next } = JSON.parse(body) as { next?: string | null }
  return next?.replace(publicUrl, '')
}

/** The speed of ingest differs between runs, here and in the messages of the doctor. */
const withoutSpeed = (name: string, value: unknown): unknown =>
  name === 'perSecond' || name === 'remainingSeconds' ? null : value

interface Finding {
  readonly name: string
  readonly message: string
}

/** Masks what differs between runs: ports of nodes, numbers of rows, and the rows that are drawn for a check. */
const maskDoctor = (findings: readonly Finding[]): Finding[] =>
  findings.map((finding) => {
    const message = finding.message
      .replace(/http:\/\/127\.0\.0\.1:\d+/g, 'http://node')
      .replace(/[\d.]+ \w+\/\w+, (?:remaining time unknown|[^,]+ left)/, 'rate unknown, remaining time unknown')
    const isCounted = finding.name === 'stores' || finding.name.startsWith('verify: ')
    return { ...finding, message: isCounted ? message.replace(/0x[0-9a-f]+|\d+/g, '#') : message }
  })

export interface Difference {
  readonly request: string
  readonly text: string
}

/** Differences between responses and a golden file. */
export const differencesOf = (
  golden: ReadonlyMap<string, GoldenResponse>,
  lines: readonly GoldenResponse[],
): Difference[] =>
  lines.flatMap((line) => {
    const text = differenceOf(golden.get(keyOf(line)), line)
    return text === undefined ? [] : [{ request: keyOf(line), text }]
  })

function differenceOf(golden: GoldenResponse | undefined, line: GoldenResponse): string | undefined {
  if (!golden) return 'is not in the golden file'
  if (golden.status !== line.status) return `status ${golden.status} → ${line.status}: ${line.body.slice(0, 200)}`
  const [before, after] = [JSON.stringify(golden.headers), JSON.stringify(line.headers)]
  if (before !== after) return `headers ${before} → ${after}`
  if (golden.body === line.body) return undefined
  return (
    valueDifference(JSON.parse(golden.body), JSON.parse(line.body), 'body') ?? textDifference(golden.body, line.body)
  )
}

/** The first difference of two JSON values. */
function valueDifference(before: unknown, after: unknown, path: string): string | undefined {
  if (typeof before !== 'object' || typeof after !== 'object' || before === null || after === null) {
    return Object.is(before, after) ? undefined : `${path}: ${shown(before)} → ${shown(after)}`
  }
  const [left, right] = [before as Record<string, unknown>, after as Record<string, unknown>]
  if (Array.isArray(before) && Array.isArray(after) && before.length !== after.length)
    return `${path}: ${before.length} → ${after.length} items`
  for (const name of new Set([...Object.keys(left), ...Object.keys(right)])) {
    const difference = valueDifference(left[name], right[name], `${path}.${name}`)
    if (difference !== undefined) return difference
  }
  return undefined
}

/** For texts with equal values: another order of members, or another form of a number. */
function textDifference(before: string, after: string): string {
  let at = 0
  while (before[at] === after[at]) at += 1
  const around = (text: string) => text.slice(Math.max(0, at - 60), at + 60)
  return `byte ${at}: …${around(before)}… → …${around(after)}…`
}

const shown = (value: unknown): string => (JSON.stringify(value) ?? 'absent').slice(0, 300)

/** At most `max` requests that differ, each with its first difference. */
export function reportOf(differences: readonly Difference[], max: number): string {
  const lines = differences.slice(0, max).map(({ request, text }) => `  ${request.slice(0, 300)}\n    ${text}`)
  const more = differences.length > max ? [`  and ${differences.length - max} more`] : []
  return [`${differences.length} responses differ from the golden file (golden → now):`, ...lines, ...more].join('\n')
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { write: { type: 'boolean' }, only: { type: 'string', default: '' } } })
  const responses = new Map<string, Map<string, GoldenResponse>>()
  for (const scenario of scenarios.filter(({ name }) => name.includes(values.only))) {
    await scenario.run(async (file, stage, server, plans) => {
      const lines = await collectResponses(stage, server, plans)
      const differences = differencesOf(readGolden(file), lines)
      process.stdout.write(`${scenario.name}, ${stage}: ${lines.length} responses, ${differences.length} differ\n`)
      if (differences.length > 0) process.stdout.write(`${reportOf(differences, Number.POSITIVE_INFINITY)}\n`)
      const fileResponses = responses.get(file) ?? new Map<string, GoldenResponse>()
      responses.set(file, fileResponses)
      // Two ways to ingest a chain must agree, whatever the golden file contains.
      const known = lines.filter((line) => fileResponses.has(keyOf(line)))
      const report = reportOf(differencesOf(fileResponses, known), 20)
      if (differencesOf(fileResponses, known).length > 0)
        throw new Error(`${scenario.name}: scenarios disagree\n${report}`)
      for (const line of lines) fileResponses.set(keyOf(line), line)
    })
  }
  if (values.write) for (const [file, lines] of responses) writeGolden(file, lines.values())
}

if (import.meta.main) await main()
