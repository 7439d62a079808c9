// The ten kinds of records in a market's response, and the links between them. Derived from the contract, so a field that
// is added there is stored and served.
//
// 1. A record stores its own values, and links to other records by id.
// 2. A relation is stored on one side only: a market links to its events, an event to its series. The other side shows
//    references with three fields, or nothing (behaviour/markets.md#references), so there are no cycles.
import type { TObject } from '#api/contract/kit.ts'
import { changeKinds } from '#api/contract/wire/market-changes.ts'
import {
  Category,
  Chat,
  Collection,
  Event,
  EventCreator,
  ImageOptimization,
  Market,
  Series,
  Tag,
  Template,
} from '#api/contract/wire/markets.ts'
import { recordFrom } from '#core/record-from.ts'

export const kindNames = changeKinds
export type KindName = (typeof kindNames)[number]

/** What a market is looked up by: a slug, present or past, or its id. */
export type MarketKey = string | { readonly id: string }

/** A field that holds other records; `one`: a single one instead of a list. */
export interface LinkField {
  readonly to: KindName
  readonly one?: true
}

/** A field with short references to the records of another kind that link to this one. */
export interface Reference {
  readonly from: KindName
  readonly to: KindName
  /** The field name of the other record's title. */
  readonly title: 'question' | 'title'
  /** Left out where the record is inside another one (extensions/lists/series-documents.ts writes it). */
  readonly isHidden?: true
}

interface Kind {
  readonly schema: TObject
  readonly links: Readonly<Record<string, LinkField>>
  readonly references: Readonly<Record<string, Reference>>
  /** The link whose targets show a reference back to this record. */
  readonly shownThrough?: string
}

const imageLink: LinkField = { to: 'image', one: true }
const plainKind = (schema: TObject): Kind => ({ schema, links: {}, references: {} })

export const eventMarkets: Reference = { from: 'market', to: 'event', title: 'question' }
export const seriesEvents: Reference = { from: 'event', to: 'series', title: 'title', isHidden: true }

export const kinds: Readonly<Record<KindName, Kind>> = {
  market: {
    schema: Market,
    links: {
      imageOptimized: imageLink,
      iconOptimized: imageLink,
      events: { to: 'event' },
      categories: { to: 'category' },
      tags: { to: 'tag' },
    },
    references: {},
    shownThrough: 'events',
  },
  event: {
    schema: Event,
    links: {
      imageOptimized: imageLink,
      iconOptimized: imageLink,
      featuredImageOptimized: imageLink,
      series: { to: 'series' },
      categories: { to: 'category' },
      collections: { to: 'collection' },
      tags: { to: 'tag' },
      chats: { to: 'chat' },
      eventCreators: { to: 'creator' },
      templates: { to: 'template' },
    },
    references: { markets: eventMarkets },
  },
  series: {
    schema: Series,
    links: {
      collections: { to: 'collection' },
      categories: { to: 'category' },
      tags: { to: 'tag' },
      chats: { to: 'chat' },
    },
    references: { events: seriesEvents },
  },
  collection: {
    schema: Collection,
    links: { imageOptimized: imageLink, iconOptimized: imageLink, headerImageOptimized: imageLink },
    references: {},
  },
  category: plainKind(Category),
  tag: plainKind(Tag),
  chat: plainKind(Chat),
  creator: plainKind(EventCreator),
  template: plainKind(Template),
  image: plainKind(ImageOptimization),
}

/** The fields of a kind without links and references, in the order of the contract. */
export const ownFields: Readonly<Record<KindName, ReadonlySet<string>>> = recordFrom(kindNames, (name) => {
  const { schema, links, references } = kinds[name]
  return new Set(Object.keys(schema.properties).filter((field) => !(field in links) && !(field in references)))
})

/** The references that a record of this kind shows wherever it is. */
export const shownReferences = (kind: KindName): readonly Reference[] =>
  Object.values(kinds[kind].references).filter(({ isHidden }) => !isHidden)
