// One reader for each kind of source: the world's document in, rates and refusals out. Adding a kind is a line in
// `openReader`, a parser beside this file and a name in the settings.
import type { FxSettings, FxSource } from '#core/settings/fx.ts'
import type { Clock } from '#io/clock.ts'
import { openRpc } from '#io/evm/rpc.ts'
import { fetchText } from '#io/fetch.ts'
import { readTextFile } from '#io/file.ts'
import { aggregatorCalls, readAggregator } from './aggregator.ts'
import { readEcb } from './ecb.ts'
import { parseKeepingDigits, type Reading, readRates } from './rate-document.ts'

const documentBytesMax = 1_048_576

/** Asks the source once. */
export type Reader = (signal: AbortSignal) => Promise<Reading>

/** Undefined for a source that is not asked but told. */
export function openReader(source: FxSource, fx: FxSettings, clock: Clock): Reader | undefined {
  switch (source.kind) {
    case 'http-json':
    case 'file':
      return async (signal) => {
        const text = await textOf(source, 'application/json', signal)
        return readRates(parsed(text), source, clock.now())
      }
    case 'ecb':
      return async (signal) => readEcb(await textOf(source, 'application/xml, text/xml', signal), source, clock.now())
    case 'aggregator':
      return aggregatorReader(source, fx, clock)
    case 'push':
      return undefined
  }
}

const textOf = ({ url, path = '', timeoutMs }: FxSource, accept: string, signal: AbortSignal): Promise<string> =>
  url === undefined
    ? readTextFile(path, documentBytesMax)
    : fetchText(url, { timeoutMs, bytesMax: documentBytesMax, signal, headers: { accept } })

function aggregatorReader(source: FxSource, fx: FxSettings, clock: Clock): Reader {
  const { url = '', contract = '', timeoutMs, chainId = fx.chainId } = source
  const rpc = openRpc({ chain: String(chainId), rpc: [{ url, perSecond: 0, batchMax: 2, timeoutMs }], clock })
  return async (signal) => {
    const untilMs = clock.monotonicMs() + timeoutMs
    const outcomes = await rpc.ask(aggregatorCalls(contract), { untilMs, signal }).catch((error: unknown) => {
      throw signal.aborted ? signal.reason : error
    })
    // The faults that `rpc.results` throws are the explorer's.
    const answers = outcomes.map((outcome) => {
      if (outcome.is !== 'result') throw new Error(outcome.words)
      return outcome.result
    })
    return readAggregator(answers, source, clock.now())
  }
}

function parsed(text: string): unknown {
  try {
    return parseKeepingDigits(text)
  } catch (cause) {
    throw new Error('the source answered something that is not JSON', { cause })
  }
}
