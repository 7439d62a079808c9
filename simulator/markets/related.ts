// Field values of simulated collections, categories, tags, chats, creators, templates and images.
import type { SeededRandom } from '../seeded-random.ts'
import { type EventPlan, isoAt, slugOf } from './plan.ts'

const stamp = (days: number): string => isoAt(days).replace('T', ' ').replace('Z', '+00')

export function collectionFields(title: string, tags: readonly string[], draws: SeededRandom): Record<string, unknown> {
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
    publishedAt: stamp(-300),
    createdBy: String(draws.whole(1, 40)),
    updatedBy: String(draws.whole(1, 40)),
    createdAt: isoAt(-301),
    updatedAt: isoAt(-20),
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

export const categoryFields = (label: string, draws: SeededRandom) => ({
  label,
  parentCategory: 'World',
  slug: slugOf(label),
  publishedAt: stamp(-500),
  createdBy: String(draws.whole(1, 40)),
  updatedBy: String(draws.whole(1, 40)),
  createdAt: isoAt(-501),
  updatedAt: isoAt(-90),
})

export const tagFields = (label: string, draws: SeededRandom) => ({
  label,
  slug: slugOf(label),
  forceShow: label === 'All',
  forceHide: false,
  isCarousel: draws.happens(0.4),
  publishedAt: stamp(-450),
  createdBy: draws.whole(1, 40),
  updatedBy: draws.whole(1, 40),
  createdAt: isoAt(-451),
  updatedAt: isoAt(-30),
})

export const chatFields = (title: string, id: number, draws: SeededRandom) => ({
  channelId: `channel-${id}-${draws.hex(6)}`,
  channelName: `${title}, live talk`,
  channelImage: `https://img.example/chats/${id}.png`,
  live: draws.happens(0.5),
  startTime: isoAt(-0.5),
  endTime: isoAt(0.5),
})

export const creatorFields = (name: string) => ({
  creatorName: name,
  creatorHandle: `@${slugOf(name)}`,
  creatorUrl: `https://people.example/${slugOf(name)}`,
  creatorImage: `https://img.example/people/${slugOf(name)}.png`,
  createdAt: isoAt(-600),
  updatedAt: isoAt(-60),
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
    imageOptimizedLastUpdated: isoAt(-draws.whole(1, 60)),
    relID,
    field,
    relname,
  }
}
