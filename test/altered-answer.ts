// Alters one answer of a source: one value in a JSON document, or the whole response. The same seed makes the same
// alteration. Works for JSON-RPC (single and batch), for JSON documents and, in part, for other texts and bytes.
//   const alterer = new AnswerAlterer(createSeededRandom('seed'), 7)
//   const answer = alterer.next({ question, body })   // alters the answer with the number 7, from 0
//   alterer.report                                    // what was altered, for the message of a failed test
import type { SeededRandom } from '#simulator/seeded-random.ts'
import { alterBytes } from './altered-bytes.ts'
import { alterText, changeCharacter } from './altered-text.ts'

export interface Answer {
  readonly status: number
  readonly type: string
  /** Bytes if it is not text, such as SSZ. */
  readonly body: string | Buffer
  /** Besides the content type. */
  readonly headers?: Readonly<Record<string, string>>
  /** How long the source waits before it answers. */
  readonly delayMs?: number
}

export interface AlterationReport {
  readonly kind: AlterationKind
  /** The method and parameters of a call, or the path of a request. */
  readonly question: string
  /** Where in the answer: `result.transactions.0.value`. Empty: the whole answer. */
  readonly path: string
  /** The other place of two swapped values. */
  readonly otherPath?: string
  readonly before: string
  readonly after: string
}

/** Alterations of one value in a JSON document. */
export const valueAlterations = [
  'field dropped',
  'null',
  'wrong type',
  'off by one',
  'changed character',
  'swapped with a neighbour',
  'sign flipped',
  'truncated list',
  'repeated element',
  'unknown field',
  'hex case or padding',
  'scientific notation',
  'very large',
  'empty value',
] as const

/** Alterations that take the content of an earlier answer. */
export const earlierAlterations = ['stale answer', 'answer to another question'] as const

/** Alterations of the whole response. */
export const responseAlterations = [
  'empty answer',
  'delayed',
  'cut in half',
  'other status',
  'other content type',
] as const

export const alterationKinds = [...valueAlterations, ...earlierAlterations, ...responseAlterations] as const

export type ValueAlteration = (typeof valueAlterations)[number]
export type AlterationKind = (typeof alterationKinds)[number]

type Container = Record<string, unknown>

/** A value in a document, by its container and its name there. */
interface Member {
  readonly container: Container
  readonly name: string
  readonly path: string
  readonly question: string
}

/** The content of one answer: the result of a call, or a whole document. */
interface Content {
  readonly question: string
  /** Calls with the same method, or requests for the same path. */
  readonly topic: string
  readonly member: Member
}

interface PastContent {
  readonly question: string
  readonly topic: string
  /** JSON. */
  readonly text: string
  /** The whole answer, if it is bytes. */
  readonly answer?: Answer
}

const pastMax = 400

const types = ['text/html', 'application/json', 'application/octet-stream', '']
/** The fork of a beacon block or state, by which its bytes are decoded. */
const versionHeader = 'eth-consensus-version'
const versions = ['phase0', 'deneb', 'electra', 'fulu', 'later', '']

export class AnswerAlterer {
  readonly #draws: SeededRandom
  readonly #at: number
  readonly #kinds: readonly AlterationKind[]
  readonly #isChosen: (answer: Answer) => boolean
  readonly #past: PastContent[] = []
  #count = 0
  #isStopped = false
  report: AlterationReport | undefined

  /**
   * `at`: the number of the answer to alter. If nothing in it can be altered, the next one is. `isChosen`: other answers
   * are neither counted nor altered.
   */
  constructor(
    draws: SeededRandom,
    at: number,
    kinds: readonly AlterationKind[] = alterationKinds,
    isChosen: (answer: Answer) => boolean = () => true,
  ) {
    this.#isChosen = isChosen
    this.#draws = draws
    this.#at = at
    this.#kinds = kinds
  }

  /** Number of answers until `stop`. */
  get count(): number {
    return this.#count
  }

  /** The source has recovered: further answers are not altered. */
  stop(): void {
    this.#isStopped = true
  }

  /** `question`: the calls of JSON-RPC, otherwise the path and the body. */
  next(question: string, answer: Answer): Answer {
    if (this.#isStopped || !this.#isChosen(answer)) return answer
    const isDue = this.#count++ >= this.#at && this.report === undefined
    const altered = isDue ? this.#alter(question, answer) : undefined
    // What the source really answered.
    if (typeof answer.body !== 'string') this.#past.push({ question, topic: topicOf(question), text: '', answer })
    for (const content of contentsOf(question, { document: parseJson(answer.body) })) {
      const { container, name } = content.member
      this.#past.push({ ...content, text: textOf(container[name]) })
    }
    this.#past.splice(0, this.#past.length - pastMax)
    return altered ?? answer
  }

  #alter(question: string, answer: Answer): Answer | undefined {
    for (const kind of this.#draws.shuffled(this.#kinds)) {
      const root = { document: parseJson(answer.body) }
      const altered = this.#alterBy(kind, question, answer, root, contentsOf(question, root))
      if (altered) return altered
    }
    return undefined
  }

  #alterBy(
    kind: AlterationKind,
    question: string,
    answer: Answer,
    root: Container,
    contents: readonly Content[],
  ): Answer | undefined {
    const { body } = answer
    const whole = { kind, question: shortText(question), path: '', before: describeBody(body) }
    switch (kind) {
      case 'empty answer':
        this.report = { ...whole, after: '' }
        return { ...answer, body: '' }
      case 'delayed':
        this.report = { ...whole, after: 'later' }
        return { ...answer, delayMs: this.#draws.pick([1, 5, 20]) }
      case 'cut in half': {
        const half = body.slice(0, this.#draws.whole(0, body.length))
        this.report = { ...whole, after: describeBody(half) }
        return { ...answer, body: half }
      }
      case 'other status': {
        const status = this.#draws.pick([204, 302, 400, 404, 429, 500, 503])
        this.report = { ...whole, after: String(status) }
        return { ...answer, status }
      }
      case 'other content type': {
        const version = answer.headers?.[versionHeader]
        if (version !== undefined && this.#draws.happens(0.5)) {
          const other = this.#draws.pick(versions.filter((name) => name !== version))
          this.report = { ...whole, before: version, after: other }
          return { ...answer, headers: { ...answer.headers, [versionHeader]: other } }
        }
        const type = this.#draws.pick(types.filter((name) => !answer.type.startsWith(name)))
        this.report = { ...whole, before: answer.type, after: type }
        return { ...answer, type }
      }
      case 'stale answer':
      case 'answer to another question':
        return typeof body === 'string'
          ? this.#takeEarlier(kind, answer, root, contents)
          : this.#takeEarlierBytes(kind, question, whole)
      default:
        if (typeof body !== 'string') return this.#alterBytes(kind, whole, answer, body)
        return root.document === undefined
          ? this.#alterText(kind, whole, answer, body)
          : this.#alterValue(kind, answer, root, contents)
    }
  }

  #takeEarlier(
    kind: 'stale answer' | 'answer to another question',
    answer: Answer,
    root: Container,
    contents: readonly Content[],
  ): Answer | undefined {
    const choices = contents.flatMap((content) => {
      const present = textOf(content.member.container[content.member.name])
      return this.#past
        .filter(({ question, topic, text }) => {
          const isSame = question === content.question
          return topic === content.topic && isSame === (kind === 'stale answer') && text !== present
        })
        .map((past) => ({ content, past, present }))
    })
    if (choices.length === 0) return undefined
    const { content, past, present } = this.#draws.pick(choices)
    const { container, name } = content.member
    const { question, path } = content.member
    if (past.text === '') delete container[name]
    else container[name] = JSON.parse(past.text)
    this.report = {
      kind,
      question,
      path,
      before: shortText(present),
      after: `${past.question}: ${shortText(past.text)}`,
    }
    return { ...answer, body: JSON.stringify(root.document) }
  }

  #takeEarlierBytes(
    kind: 'stale answer' | 'answer to another question',
    question: string,
    whole: Omit<AlterationReport, 'after'>,
  ): Answer | undefined {
    const topic = topicOf(question)
    const choices = this.#past.filter(
      (past) => past.answer && past.topic === topic && (past.question === question) === (kind === 'stale answer'),
    )
    if (choices.length === 0) return undefined
    const { question: other, answer } = this.#draws.pick(choices)
    this.report = { ...whole, after: other }
    return answer
  }

  #alterBytes(
    kind: ValueAlteration,
    whole: Omit<AlterationReport, 'after'>,
    answer: Answer,
    body: Buffer,
  ): Answer | undefined {
    const altered = alterBytes(kind, this.#draws, body)
    if (!altered) return undefined
    const [before, after] = [altered.before.toString('hex'), altered.after.toString('hex')]
    this.report = { ...whole, path: `byte ${altered.at}`, before, after }
    return { ...answer, body: altered.bytes }
  }

  #alterValue(
    kind: ValueAlteration,
    answer: Answer,
    root: Container,
    contents: readonly Content[],
  ): Answer | undefined {
    const members = membersIn(root, contents)
    for (const member of this.#draws.shuffled(members).slice(0, 60)) {
      const { container, name, path, question } = member
      const before = textOf(container[name])
      const altered = alterMember(kind, this.#draws, member)
      if (altered === false) continue
      const body = JSON.stringify(root.document)
      // Written in another way, but the same.
      if (body === answer.body || body === undefined) return undefined
      const other = typeof altered === 'string' && { otherPath: path.slice(0, path.length - name.length) + altered }
      const after = shortText(textOf(container[name]))
      this.report = { kind, question, path, ...other, before: shortText(before), after }
      return { ...answer, body }
    }
    return undefined
  }

  /** A text that is not JSON. */
  #alterText(
    kind: ValueAlteration,
    whole: Omit<AlterationReport, 'after'>,
    answer: Answer,
    text: string,
  ): Answer | undefined {
    const body = alterText(kind, this.#draws, text)
    if (body === undefined) return undefined
    this.report = { ...whole, after: shortText(body) }
    return { ...answer, body }
  }
}

export const reportText = (report: AlterationReport | undefined): string =>
  report
    ? `${report.kind} at ${report.path || 'the whole answer'} of ${report.question}: ${report.before} → ${report.after}`
    : 'nothing altered'

function parseJson(text: string | Buffer): unknown {
  if (typeof text !== 'string') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const textOf = (value: unknown): string => (value === undefined ? '' : JSON.stringify(value))

const describeBody = (body: string | Buffer): string =>
  typeof body === 'string' ? shortText(body) : `${body.length} bytes`

/** Requests for the same path, with any slot, epoch or root in it. */
const topicOf = (question: string): string =>
  question.replace(/[? ].*/, '').replace(/\/(\d+|0x[0-9a-f]+|head)(?=\/|$)/gi, '/*')

const shortText = (text: string): string => (text.length > 120 ? `${text.slice(0, 120)}…` : text)

interface Call {
  readonly id: unknown
  readonly method: string
  readonly params: unknown
}

/** The results of the calls of a JSON-RPC request, or the document. */
function contentsOf(question: string, root: Container): Content[] {
  const { document } = root
  if (document === undefined) return []
  const request = parseJson(question)
  const calls = [request ?? []].flat() as Call[]
  const isRpc = calls.length > 0 && calls.every((call) => typeof call?.method === 'string')
  if (!isRpc) {
    return [{ question, topic: topicOf(question), member: { container: root, name: 'document', path: '', question } }]
  }
  return ([document].flat() as Container[]).flatMap((reply, at) => {
    const call = calls.find(({ id }) => id === reply?.id)
    if (!call || !('result' in reply)) return []
    const path = Array.isArray(document) ? `${at}.result` : 'result'
    const text = `${call.method} ${JSON.stringify(call.params)}`
    const member = { container: reply, name: 'result', path, question: text }
    return [{ question: text, topic: call.method, member }]
  })
}

/** Every value of the document, with the question it belongs to. */
function membersIn(root: Container, contents: readonly Content[]): Member[] {
  const members: Member[] = []
  const questions = new Map(contents.map(({ member, question }) => [member.container, question]))
  const visit = (value: unknown, path: string, question: string) => {
    if (typeof value !== 'object' || value === null) return
    const container = value as Container
    const inner = questions.get(container) ?? question
    for (const name of Object.keys(container)) {
      const innerPath = path === '' ? name : `${path}.${name}`
      members.push({ container, name, path: innerPath, question: inner })
      visit(container[name], innerPath, inner)
    }
  }
  visit(root.document, '', contents[0]?.question ?? '')
  members.push({ container: root, name: 'document', path: '', question: contents[0]?.question ?? '' })
  return members
}

const isHex = (value: unknown): value is string => typeof value === 'string' && /^0x[0-9a-f]+$/i.test(value)
const isDecimal = (value: unknown): value is string => typeof value === 'string' && /^\d+(\.\d+)?$/.test(value)

/** A number as it is written in JSON; `JSON.stringify` would write 1e3 as 1000. */
const rawJson = (text: string): unknown => (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text)

/** Alters the member in place. False if this kind does not apply to it, a name if it was swapped with that member. */
function alterMember(kind: ValueAlteration, draws: SeededRandom, { container, name }: Member): boolean | string {
  const value = container[name]
  const set = (next: unknown): boolean => {
    if (next === undefined) return false
    container[name] = next
    return true
  }
  switch (kind) {
    case 'field dropped':
      if (Array.isArray(container)) container.splice(Number(name), 1)
      else delete container[name]
      return true
    case 'null':
      return value !== null && set(null)
    case 'wrong type':
      return set(ofOtherType(draws, value))
    case 'off by one':
      return set(offByOne(draws, value))
    case 'changed character':
      return typeof value === 'string' && value !== '' && set(changeCharacter(draws, value))
    case 'swapped with a neighbour':
      return swapWithNeighbour(draws, container, name)
    case 'sign flipped':
      if (typeof value === 'number' && value !== 0) return set(-value)
      if (typeof value === 'boolean') return set(!value)
      return (isHex(value) || isDecimal(value)) && set(`-${value}`)
    case 'truncated list':
      return Array.isArray(value) && value.length > 0 && set(value.slice(0, draws.whole(0, value.length)))
    case 'repeated element': {
      if (!Array.isArray(value) || value.length === 0) return false
      const at = draws.whole(0, value.length)
      return set(value.toSpliced(at, 0, value[at]))
    }
    case 'unknown field':
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
      return set({ ...value, addedField: draws.pick<unknown>([1, 'text', null, { inner: [] }]) })
    case 'hex case or padding':
      if (!isHex(value)) return false
      return set(
        draws.pick([
          `0x${value.slice(2).toUpperCase()}`,
          `0x0${value.slice(2)}`,
          value.slice(2),
          `0X${value.slice(2)}`,
        ]),
      )
    case 'scientific notation':
      return set(inScientificNotation(value))
    case 'very large':
      if (typeof value === 'number')
        return set(draws.pick<unknown>([1e15, 1e22, rawJson('1e400'), rawJson('9'.repeat(40))]))
      if (isHex(value)) return set(draws.pick([`0x${'f'.repeat(16)}`, `0x${'f'.repeat(64)}`, `0x${'f'.repeat(80)}`]))
      if (isDecimal(value)) return set('9'.repeat(draws.pick([20, 90])))
      return typeof value === 'string' && set(value.repeat(2000).slice(0, 20_000))
    case 'empty value':
      if (typeof value === 'string') return set(isHex(value) ? draws.pick(['', '0x']) : '')
      return typeof value === 'object' && value !== null && set(Array.isArray(value) ? [] : {})
  }
}

function ofOtherType(draws: SeededRandom, value: unknown): unknown {
  if (typeof value === 'string') {
    const number = isHex(value) || isDecimal(value) ? [Number(value)] : []
    return draws.pick<unknown>([...number, true, [value], { value }, 7])
  }
  if (typeof value === 'number')
    return draws.pick<unknown>([String(value), `0x${Math.trunc(value).toString(16)}`, [value], true])
  if (typeof value === 'boolean') return draws.pick<unknown>([String(value), value ? 1 : 0])
  if (Array.isArray(value)) return draws.pick<unknown>([{ ...value }, 'text', 3])
  return draws.pick<unknown>([[value], 'text', 3, false])
}

function offByOne(draws: SeededRandom, value: unknown): unknown {
  const step = draws.pick([1, -1])
  if (typeof value === 'number') return value + step
  if (isHex(value)) {
    const next = BigInt(value) + BigInt(step)
    return next < 0n
      ? '0x1'
      : `0x${next.toString(16).padStart(/^0x0./.test(value) || value.length > 40 ? value.length - 2 : 1, '0')}`
  }
  if (!isDecimal(value)) return undefined
  // One unit of the last decimal.
  const decimals = value.split('.')[1]?.length ?? 0
  const next = BigInt(value.replace('.', '')) + BigInt(step)
  const digits = (next < 0n ? 1n : next).toString().padStart(decimals + 1, '0')
  return decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}

/** Returns the name of the other member. */
function swapWithNeighbour(draws: SeededRandom, container: Container, name: string): string | false {
  const names = Object.keys(container)
  const value = container[name]
  const others = names.filter((other) => other !== name && typeof container[other] === typeof value)
  const siblings = Array.isArray(container)
    ? others.filter((other) => Math.abs(Number(other) - Number(name)) === 1)
    : others
  if (siblings.length === 0) return false
  const other = draws.pick(siblings)
  if (textOf(container[other]) === textOf(value)) return false
  container[name] = container[other]
  container[other] = value
  return other
}

function inScientificNotation(value: unknown): unknown {
  if (typeof value === 'number') return rawJson(value.toExponential())
  return isHex(value) && value.length < 40
    ? Number(value).toExponential()
    : isDecimal(value)
      ? Number(value).toExponential()
      : undefined
}
