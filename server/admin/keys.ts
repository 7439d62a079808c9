// API of the console to list, create, change, rotate and revoke keys. The command line uses the same functions.

import { plans } from '#api/contract/routes.ts'
import { Fault, invalid } from '#core/fault.ts'
import { parseTimestamp } from '#core/parse-timestamp.ts'
import type { ApiRequest } from '#http/pipeline.ts'
import type { ExtraRoute } from '#http/routes.ts'
import type { AppContext } from '#server/context.ts'
import {
  KeyChangeInput,
  type KeyList,
  type KeyUsage,
  type KeyView,
  NewKeyInput,
  type NewKeyReply,
  type PlanList,
  RotationInput,
} from '#shared/console-calls.ts'
import { anonymousId, createKey, editKey, findKey, revokeKey, rotateKey, searchKeys } from '#storage/keys.ts'
import { dayMs, usageDaysKept, usageOf } from '#storage/usage.ts'
import { keyView, rotatedKeyView } from './key-view.ts'
import { bodyOf, operatorRoute, pageIn } from './operator-requests.ts'
import { sessionKeys } from './sessions.ts'

const pageSize = 100
const searchCharsMax = 100
const daysDefault = 30

export const keyRoutes: readonly ExtraRoute<AppContext>[] = [
  operatorRoute('/console/keys', { GET: listKeyViews, POST: create }),
  operatorRoute('/console/keys/{id}', { POST: edit, DELETE: revoke }),
  operatorRoute('/console/keys/{id}/secret', { POST: rotate }),
  operatorRoute('/console/keys/{id}/usage', { GET: usage }),
  operatorRoute('/console/plans', { GET: readPlans }),
]

const idOf = ({ params }: ApiRequest): string => params.id ?? ''

async function listKeyViews({ query }: ApiRequest, { state, provenTime }: AppContext): Promise<KeyList> {
  const nowMs = provenTime.forKeys()
  const page = pageIn(query)
  const found = await searchKeys(state, {
    text: parseSearchText(query.find),
    hiddenPrefix: sessionKeys,
    rowsMax: pageSize,
    offset: (page - 1) * pageSize,
  })
  return { keys: found.keys.map((key) => keyView(key, nowMs)), total: found.total, pageSize }
}

function parseSearchText(text: ApiRequest['query'][string] = ''): string {
  if (typeof text === 'string' && text.length <= searchCharsMax) return text.trim()
  throw invalid(['query', 'find'], `must be a single text of at most ${searchCharsMax} characters`)
}

async function create(request: ApiRequest, context: AppContext): Promise<NewKeyReply> {
  const { name, plan, groups: allowed, expiresAt, admin } = bodyOf(request, NewKeyInput)
  const expiresAtMs = expiresAt === undefined ? undefined : parseTime('expiresAt', expiresAt)
  const newKey = { name, plan, groups: allowed, admin, expiresAtMs }
  const created = await createKey(context.state, newKey, context.clock, context.random)
  context.log.info({ keyId: created.id, plan, admin: admin ?? false }, 'key created in the console')
  return created
}

/** The time zone is required, because the server and the browser may be in different zones. */
function parseTime(name: string, text: string): number {
  const atMs = parseTimestamp(text, { zone: 'needed' })
  if (atMs === undefined) throw invalid([name], 'must have a time zone, as in 2027-01-31T00:00:00Z')
  return atMs
}

async function edit(request: ApiRequest, context: AppContext): Promise<KeyView> {
  const { expiresAt, ...rest } = bodyOf(request, KeyChangeInput)
  const expiresAtMs = typeof expiresAt === 'string' ? parseTime('expiresAt', expiresAt) : expiresAt
  const id = idOf(request)
  const edited = await editKey(context.state, id, { ...rest, expiresAtMs }, context.clock)
  const key = edited ? await findKey(context.state, id) : undefined
  if (!key) throw new Fault('record.not_found')
  context.log.info({ keyId: id, plan: key.plan, admin: key.admin }, 'key changed in the console')
  return keyView(key, context.provenTime.forKeys())
}

async function rotate(request: ApiRequest, context: AppContext): Promise<NewKeyReply> {
  const { restore = false, oldSecretUntil } = bodyOf(request, RotationInput)
  const oldSecretUntilMs = oldSecretUntil === undefined ? undefined : parseTime('oldSecretUntil', oldSecretUntil)
  const rotation = { id: idOf(request), restore, oldSecretUntilMs }
  const rotated = await rotateKey(context.state, rotation, context.clock, context.random)
  if (!rotated) throw new Fault('record.not_found')
  context.log.info(
    { keyId: rotated.id, ...(oldSecretUntil !== undefined && { oldSecretUntil }) },
    'key rotated in the console',
  )
  return rotatedKeyView(rotated)
}

async function revoke(
  request: ApiRequest,
  context: AppContext,
): Promise<{ readonly id: string; readonly revoked: true }> {
  const id = idOf(request)
  if (!(await revokeKey(context.state, id, context.clock))) throw new Fault('record.not_found')
  context.log.info({ keyId: id }, 'key revoked in the console')
  return { id, revoked: true }
}

async function usage(request: ApiRequest, { state, clock }: AppContext): Promise<KeyUsage> {
  const id = idOf(request)
  const days = daysOf(request.query.days)
  if (id !== anonymousId && !(await findKey(state, id))) throw new Fault('record.not_found')
  const nowMs = clock.now()
  const usageDays = await usageOf(state.recent, { keyId: id, days, nowMs })
  const dayText = (atMs: number) => new Date(atMs).toISOString().slice(0, 10)
  return {
    id,
    from: dayText(nowMs - (days - 1) * dayMs),
    to: dayText(nowMs),
    days: usageDays.map(({ keyId: _, ...day }) => day),
  }
}

function daysOf(text: ApiRequest['query'][string] = String(daysDefault)): number {
  const days = typeof text === 'string' && /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (days < 1 || days > usageDaysKept) throw invalid(['query', 'days'], `must be 1 to ${usageDaysKept}`)
  return days
}

async function readPlans(_: ApiRequest, { settings }: AppContext): Promise<PlanList> {
  return { plans: plans.map((name) => ({ name, ...settings.plans[name] })) }
}
