// Types of the input and the reply of each endpoint, and of the methods of the client. They are derived from the schemas.
// The published package has plain interfaces instead (declarations.ts).
import type { Contract } from '../contract/contract.ts'
import type { Extensions } from '../contract/extensions.ts'
import type { Endpoint, Input, Reply } from '../contract/kit.ts'
import type { AnyId, Group } from '../contract/routes.ts'
import type { Call, PagedCall } from './call.ts'
import type { PagedId, RecordOf } from './pages.ts'
import type { SendOptions } from './send.ts'

/** Inputs that are text on the wire, but may be passed as numbers. */
type NumberToo = 'chainid' | 'validator_index_or_pubkey' | 'from' | 'to'
type Widened<T, K> = K extends NumberToo ? (string extends T ? T | number : T) : T
/** Optional members may be undefined, at every depth. They are not sent. */
type Loose<T> = T extends readonly unknown[] | string
  ? T
  : T extends object
    ? { [K in keyof T]: Loose<T[K]> | (Record<never, never> extends Pick<T, K> ? undefined : never) }
    : T
/** Input of a client method; inputs with a default are optional. */
export type ClientInput<E extends Endpoint> = Loose<{ [K in keyof Input<E>]: Widened<Input<E>[K], K> }>

type All = Contract & Extensions
export type InputOf<Id extends AnyId> = ClientInput<All[Id]>
export type ReplyOf<Id extends AnyId> = Reply<All[Id]>

export type CallOptions = SendOptions

type Method<Id extends AnyId> =
  Record<never, never> extends InputOf<Id>
    ? (input?: InputOf<Id>, options?: CallOptions) => CallOf<Id>
    : (input: InputOf<Id>, options?: CallOptions) => CallOf<Id>

type CallOf<Id extends AnyId> = Id extends PagedId ? PagedCall<ReplyOf<Id>, RecordOf<Id>> : Call<ReplyOf<Id>>

/** Has an iterator instead of a method. */
export type Streamed = 'markets.changeStream'

type Methods<G extends Group> = {
  readonly [Id in Exclude<AnyId, Streamed> as Id extends `${G}.${infer Name}` ? Name : never]: Method<Id>
}

export type ExplorerMethods = Methods<'explorer'>
export type FxMethods = Methods<'fx'>
export type ValidatorsMethods = Methods<'validators'>
export type MarketsMethods = Methods<'markets'>
