// The life of one request, in order: match → admit → parse → answer → render. Nothing here knows the HTTP library, and
// no failure leaves in another shape than its group's.
import type { Endpoint } from '#api/kit.ts'
import type { Group } from '#api/routes.ts'
import { Fault } from '#core/fault.ts'
import { failureFields } from '#io/log.ts'
import type { Admission, Claim } from './admit.ts'
import { type Aliases, aliases } from './aliases.ts'
import type { Answer, Caller, Outcome, Shape, Visit } from './answer.ts'
import type { Context } from './context.ts'
import { CallerGone, type Deadlines, openDeadlines, type WhenGone } from './deadline.ts'
import { choose, type Place, placesOf } from './match.ts'
import { type Arrival, parser } from './parse.ts'
import { type Departure, render, renderFault, serializer } from './render.ts'
import { Repeats } from './repeats.ts'

export interface Request extends Arrival {
  readonly requestId: string
  readonly address: string
  /** Scheme and authority for absolute links. */
  readonly origin: string
  /** Host name the caller used, without port. */
  readonly hostname: string
  readonly path: string
  readonly whenGone?: WhenGone
}

/** Counts what happened; the metrics behind it are somebody else's. */
export interface Meter {
  /** Without a time for what never reached an endpoint. */
  request(endpoint: string, outcome: string, tookMs?: number): void
}

export interface House {
  readonly context: Context
  readonly places: readonly Place[]
  readonly admission: Admission
  readonly deadlines: Deadlines
  readonly aliases: Aliases
  readonly meter: Meter
  readonly tools: ReadonlyMap<Answer, Tools>
  /** What fails with every call. */
  readonly repeats: Repeats
  /** Aborts when the door closes: answers without an end stop then. */
  readonly stopping: AbortController
}

/** What the contract gives each endpoint, compiled once. */
interface Tools {
  readonly parse: ReturnType<typeof parser>
  readonly write: ReturnType<typeof serializer>
}

export function openHouse<C extends Context>(
  context: C,
  answers: readonly Answer<Endpoint, NoInfer<C>>[],
  admission: Admission,
  meter: Meter,
): House {
  return {
    context,
    places: placesOf(answers),
    admission,
    deadlines: openDeadlines(context.clock, context.settings.server.answerTimeoutMs),
    aliases: aliases(context.settings.aliases),
    meter,
    tools: new Map(answers.map((one) => [one, { parse: parser(one.endpoint), write: serializer(one.endpoint) }])),
    repeats: new Repeats(context.clock),
    stopping: new AbortController(),
  }
}

export async function respond(house: House, place: Place, request: Request): Promise<Departure> {
  const startMs = house.context.clock.monotonicMs()
  let answer: Answer | undefined
  let outcomeWord: string
  let reason: string | undefined
  let departure: Departure
  try {
    open(house, place, request)
    const chosen = choose(place, request.query)
    answer = chosen
    const tools = toolsOf(house, chosen)
    const caller = await house.admission.admit(chosen, claimOf(request))
    const input = tools.parse(request)
    const outcome = await house.deadlines.within(
      (signal) => chosen.reply(input, house.context, visitOf(request, caller, signal)),
      request.whenGone,
    )
    departure = render(chosen, tools.write, outcome)
    outcomeWord = wordOf(outcome)
  } catch (error) {
    const fault = toFault(house, error, request)
    departure = renderFault(place.shape, fault, answer?.endpoint.auth ?? 'open')
    outcomeWord = outcomeOf(fault)
    // What an upstream answered is in the private detail: an operator who finds the request must find the cause with it.
    if (fault.status >= 500 && outcomeWord === fault.code)
      reason = fault.message.slice(fault.code.length + 2, fault.code.length + 2 + reasonMax)
  }
  const tookMs = house.context.clock.monotonicMs() - startMs
  house.meter.request(answer?.endpoint.id ?? 'none', outcomeWord, tookMs)
  logRequest(house.context, request, {
    endpoint: answer?.endpoint.id,
    status: departure.status,
    outcome: outcomeWord,
    tookMs: Math.round(tookMs * 1000) / 1000,
    ...(reason !== undefined && { reason }),
  })
  return renamed(house, departure)
}

/** `origin` is worked out only where a link is written: doing so may log a warning. */
const visitOf = (request: Request, caller: Caller, signal: AbortSignal): Visit => ({
  caller,
  requestId: request.requestId,
  get origin() {
    return request.origin
  },
  headers: request.headers,
  signal,
})

/** A group can be switched off, or answer only under its own host name (decision 0001). */
function open(house: House, place: Place, request: Request): void {
  const group = groupOf(place)
  const { on, host } = house.context.settings.groups[group]
  if (!on) throw new Fault('route.off')
  if (host !== '' && host.toLowerCase() !== request.hostname.toLowerCase()) throw new Fault('route.unknown')
}

function groupOf(place: Place): Group {
  const [first] = place.answers
  if (!first) throw new Error(`no answer at ${place.path}`)
  return first.endpoint.group
}

function toolsOf(house: House, answer: Answer): Tools {
  const tools = house.tools.get(answer)
  if (!tools) throw new Error(`no tools for ${answer.endpoint.id}`)
  return tools
}

function claimOf({ query, headers, address }: Request): Claim {
  const { apikey } = query
  return {
    apikey: typeof apikey === 'string' ? apikey : undefined,
    authorization: headers.authorization,
    address,
    query,
  }
}

/** While a store or Redis is away, every call fails alike. */
const failEveryCall: ReadonlySet<string> = new Set(['store.unavailable', 'limit.unavailable'])

/** A failure that is not a Fault is a broken belief of ours: shouted in the log, a plain 500 to the caller. */
export function toFault(
  { context, repeats }: Pick<House, 'context' | 'repeats'>,
  error: unknown,
  request: { requestId: string; path: string },
): Fault {
  if (error instanceof Fault) {
    // What is not read yet is no failure; the line of the request tells.
    if (error.status < 500 || error instanceof CallerGone || error.code.endsWith('.not_covered')) return error
    const told = { requestId: request.requestId, fault: error.message }
    const times = failEveryCall.has(error.code) ? repeats.due(error.message) : 1
    if (times !== undefined) context.log.warn(times === 1 ? told : { ...told, times }, 'request failed')
    return error
  }
  context.log.error({ requestId: request.requestId, path: request.path, ...failureFields(error) }, 'unexpected failure')
  return new Fault('server.internal', { cause: error })
}

const reasonMax = 500

interface Told {
  readonly endpoint?: string | undefined
  readonly status: number
  readonly outcome: string
  readonly tookMs?: number
  readonly reason?: string
}

/** The outcome of a failure in the log and in the metrics. */
export const outcomeOf = (fault: Fault): string => (fault instanceof CallerGone ? 'gone' : fault.code)

/** The word of the log and of the metrics: in what form an answer was made is nobody's concern. */
const wordOf = ({ is }: Outcome<unknown>): string => (is === 'unchanged' || is === 'nothing' ? is : 'ok')

const successes: ReadonlySet<string> = new Set(['unchanged', 'ok'])

/** Only the path is logged: the query may contain a key. */
export function logRequest(context: Context, request: { requestId: string; path: string }, told: Told): void {
  const { requests } = context.settings.log
  if (requests === 'none' || (requests === 'failures' && successes.has(told.outcome))) return
  context.log.info({ requestId: request.requestId, path: request.path, ...told }, 'request')
}

/** Names as the configuration's aliases want them; packed and other bytes stay as they are. */
export function renamed(house: House, departure: Departure): Departure {
  const rename = house.aliases.responseFields
  if (!rename || departure.status === 304 || !isPlainJson(departure)) return departure
  const { chunks } = departure
  if (chunks) return { ...departure, chunks: (signal) => mapped(chunks(signal), rename) }
  const text = typeof departure.body === 'string' ? departure.body : new TextDecoder().decode(departure.body)
  return { ...departure, body: rename(text) }
}

const isPlainJson = ({ headers }: Departure): boolean =>
  headers['content-encoding'] === undefined && /json|event-stream/.test(headers['content-type'] ?? '')

async function* mapped(chunks: AsyncIterable<string>, change: (text: string) => string): AsyncGenerator<string> {
  for await (const chunk of chunks) yield change(chunk)
}

const wordsOf = ({ says, problems }: Fault): string =>
  [says, ...problems.map((problem) => `${problem.at.join('.')} ${problem.says}.`)].join(' ')

/** The words for a path that belongs to no group. */
export const houseShape: Shape = {
  fault: (fault) => ({ status: fault.status, body: { error: { code: fault.code, message: wordsOf(fault) } } }),
  nothing: () => ({ status: 404, body: { error: { code: 'record.unknown', message: 'Not found.' } } }),
}
