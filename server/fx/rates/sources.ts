// One reader for each kind of rate source. To add a kind, add a case to `openRateReader`, a parser to this folder and the
// kind to the settings.
import type { Clock } from '#runtime/clock.ts'
import { type Environment, processEnvironment } from '#runtime/environment.ts'
import { readTextFile } from '#runtime/read-text-file.ts'
import type { FxSettings, FxSource } from '#runtime/settings/fx.ts'
import { openRpc } from '#sources/evm/rpc.ts'
import { cleanUrl, fetchText } from '#sources/http-client.ts'
import { outlierPpm } from '../pricing/resolve-offer.ts'
import { aggregatorCalls, findNodeProblem, parseAggregatorResults } from './aggregator.ts'
import { parseEcbDocument } from './ecb.ts'
import { type ParsedRates, parseKeepingDigits, parseRateDocument } from './rate-document.ts'
import { readHeaders } from './request-headers.ts'

const documentBytesMax = 1_048_576
/** Public chains have a block every few seconds. */
const blockMaxAgeDefaultMs = 600_000

/** Reads the source once. */
export type RateReader = (signal: AbortSignal) => Promise<ParsedRates>

/** Undefined for push sources, which are not polled. */
export function openRateReader(
  source: FxSource,
  fx: FxSettings,
  clock: Clock,
  env: Environment = processEnvironment,
): RateReader | undefined {
  switch (source.kind) {
    case 'http-json':
    case 'file':
      return async (signal) => {
        const text = await readSourceText(source, 'application/json', signal, env)
        return parseRateDocument(parseSourceJson(text), source, clock.now(), outlierPpm(fx))
      }
    case 'ecb':
      return async (signal) =>
        parseEcbDocument(await readSourceText(source, 'application/xml, text/xml', signal, env), source, clock.now())
    case 'aggregator':
      return aggregatorReader(source, fx, clock)
    case 'push':
      return undefined
  }
}

async function readSourceText(
  source: FxSource,
  accept: string,
  signal: AbortSignal,
  env: Environment,
): Promise<string> {
  const { url, path = '', timeoutMs, body, headers = [] } = source
  if (url === undefined) return readTextFile(path, documentBytesMax)
  const own = await readHeaders(headers, env)
  const post = body === undefined ? {} : ({ method: 'POST', isQuery: true, body } as const)
  const text = await fetchText(url, {
    ...{ timeoutMs, bytesMax: documentBytesMax, signal, ...post },
    headers: { accept, ...(body !== undefined && { 'content-type': 'application/json' }), ...own.headers },
  })
  // Parts of a document are in logs and reports.
  if (own.secrets.some((secret) => text.includes(secret)))
    throw new Error(`${cleanUrl(url)} repeats the value of a header in its document, so the document is not used`)
  return text
}

function aggregatorReader(source: FxSource, fx: FxSettings, clock: Clock): RateReader {
  const { url = '', contract = '', timeoutMs, chainId = fx.chainId, blockMaxAgeMs = blockMaxAgeDefaultMs } = source
  const rpc = openRpc({ chain: String(chainId), rpc: [{ url, perSecond: 0, batchMax: 4, timeoutMs }], clock })
  return async (signal) => {
    const untilMs = clock.monotonicMs() + timeoutMs
    const outcomes = await rpc.call(aggregatorCalls(contract), { untilMs, signal }).catch((error: unknown) => {
      throw signal.aborted ? signal.reason : error
    })
    // Not `rpc.results`: the faults it throws belong to the explorer.
    const results = outcomes.map((outcome) => {
      if (outcome.is !== 'result') throw new Error(outcome.message)
      return outcome.result
    })
    const problem = findNodeProblem(results, { chainId, blockMaxAgeMs, nowMs: clock.now() })
    if (problem !== undefined) throw new Error(`${cleanUrl(url)}: ${problem}`)
    return parseAggregatorResults(results, source, clock.now())
  }
}

function parseSourceJson(text: string): unknown {
  try {
    return parseKeepingDigits(text)
  } catch (cause) {
    throw new Error('the source did not return JSON', { cause })
  }
}
