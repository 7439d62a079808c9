// Field values of simulated collections, categories, tags, chats, creators, templates and images.
import type { SeededRandom } from '../seeded-random.ts'
import type { DemoDates } from './dates.ts'
import { type EventPlan, slugOf } from './plan.ts'

const stampAt = (dates: DemoDates, days: number): string => dates.isoAt(days).replace('T', ' ').replace('Z', '+00')

export function collectionFields(
  dates: DemoDates,
  title: string,
  tags: readonly string[],
  draws: SeededRandom,
): Record<string, unknown> {
  const slug = slugOf(title)
  return {
    ticker: slug,
    slug,
    title,
    subtitle: 'Chosen by the editors',
    collectionType: draws.pick(['series', 'topic']),
    description: `What belongs to "${title}".`,
    tags: tags.join(','),
    image: `https://img.example/collections/${slug}.png`,
    icon: `https://img.example/collections/${slug}-icon.png`,
    headerImage: `https://img.example/collections/${slug}-header.png`,
    layout: 'grid',
    templateVariables: '{}',
    publishedAt: stampAt(dates, -300),
    createdBy: String(draws.whole(1, 40)),
    updatedBy: String(draws.whole(1, 40)),
    createdAt: dates.isoAt(-301),
    updatedAt: dates.isoAt(-20),
    active: true,
    closed: false,
    archived: false,
    new: false,
    featured: true,
    restricted: false,
    isTemplate: false,
    commentsEnabled: false,
  }
}

export const categoryFields = (dates: DemoDates, label: string, draws: SeededRandom) => ({
  label,
  parentCategory: 'World',
  slug: slugOf(label),
  publishedAt: stampAt(dates, -500),
  createdBy: String(draws.whole(1, 40)),
  updatedBy: String(draws.whole(1, 40)),
  createdAt: dates.isoAt(-501),
  updatedAt: dates.isoAt(-90),
})

export const tagFields = (dates: DemoDates, label: string, draws: SeededRandom) => ({
  label,
  slug: slugOf(label),
  forceShow: label === 'All',
  forceHide: false,
  isCarousel: draws.happens(0.4),
  publishedAt: stampAt(dates, -450),
  createdBy: draws.whole(1, 40),
  updatedBy: draws.whole(1, 40),
  createdAt: dates.isoAt(-451),
  updatedAt: dates.isoAt(-30),
})

export const chatFields = (dates: DemoDates, title: string, id: number, draws: SeededRandom) => ({
  channelId: `channel-${id}-${draws.hex(6)}`,
  channelName: `${title}, live talk`,
  channelImage: `https://img.example/chats/${id}.png`,
  live: draws.happens(0.5),
  startTime: dates.isoAt(-0.5),
  endTime: dates.isoAt(0.5),
})

export const creatorFields = (dates: DemoDates, name: string) => ({
  creatorName: name,
  creatorHandle: `@${slugOf(name)}`,
  creatorUrl: `https://people.example/${slugOf(name)}`,
  creatorImage: `https://img.example/people/${slugOf(name)}.png`,
  createdAt: dates.isoAt(-600),
  updatedAt: dates.isoAt(-60),
})

export const templateFields = (plan: EventPlan) => ({
  eventTitle: `${plan.title} ({{year}})`,
  eventSlug: `${slugOf(plan.title)}-{{year}}`,
  eventImage: `https://img.example/events/${slugOf(plan.title)}.png`,
  marketTitle: plan.markets[0]?.question,
  description: `Template of ${plan.title}.`,
  resolutionSource: `https://sources.example/${slugOf(plan.title)}`,
  negRisk: plan.sort === 'range',
  sortBy: 'price',
  showMarketImages: plan.sort !== 'range',
  seriesSlug: slugOf(plan.series),
  outcomes: '["Yes","No"]',
})

/** `relname` and `relID` identify the record that shows the image. */
export function imageFields(
  dates: DemoDates,
  relname: string,
  relID: number,
  field: string,
  draws: SeededRandom,
): Record<string, unknown> {
  const source = draws.whole(80, 900)
  return {
    imageUrlSource: `https://img.example/${relname}/${relID}-${field}.png`,
    imageUrlOptimized: `https://img.example/${relname}/${relID}-${field}.webp`,
    imageSizeKbSource: source,
    imageSizeKbOptimized: Math.round(source / 6),
    imageOptimizedComplete: true,
    imageOptimizedLastUpdated: dates.isoAt(-draws.whole(1, 60)),
    relID,
    field,
    relname,
  }
}
