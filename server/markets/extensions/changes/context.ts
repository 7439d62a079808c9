// In-memory state of the change streams.
import type { MarketsContext } from '../../context.ts'
import type { StreamSlots } from './stream-slots.ts'

export type ChangesContext = MarketsContext & { readonly changeStreams: StreamSlots }
