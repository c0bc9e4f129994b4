#!/bin/sh
# An agent of this example: a real program that edits real files below public/ and tells its progress, one JSON object
# per line. The prompt comes by stdin; PENSTOCK_TASK and PENSTOCK_ATTEMPT say which task and which attempt it is.
# SITE_PAUSE is how long it "thinks" between two steps, in seconds.
set -eu

task=${PENSTOCK_TASK:?is set by Penstock}
attempt=${PENSTOCK_ATTEMPT:-1}
pause=${SITE_PAUSE:-1}

say() { printf '{"type":"message","role":"assistant","content":"%s"}\n' "$1"; }
progress() { printf '{"type":"progress","percent":%s}\n' "$1"; sleep "$pause"; }
wrote() { printf '{"type":"tool_use","name":"write","input":{"file":"%s"}}\n' "$1"; }
result() { printf '{"type":"result","subtype":"success","result":"%s","matched_criteria":[%s]}\n' "$1" "$2"; }

page() { # file, title, text
	{
		printf '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>%s</title>' "$2"
		printf '<link rel="stylesheet" href="style.css"></head>\n<body><h1>%s</h1>\n<p>%s</p>\n</body>\n</html>\n' "$2" "$3"
	} >"public/$1"
	wrote "public/$1"
}

prompt=$(cat) # what Penstock asks for: the task, the agent, the skill, the references
printf '{"type":"system","subtype":"init","session_id":"%s-%s"}\n' "$task" "$attempt"
say "I was asked for ${task}, in $(printf %s "$prompt" | wc -l | tr -d ' ') lines."
mkdir -p public
progress 10

case $task in
style)
	printf 'body { max-width: 40em; margin: 2em auto; color: #222; background: #fdfdfb; font: 1rem/1.6 serif; }\n' \
		>public/style.css
	wrote public/style.css
	progress 60
	result "The style sheet is there." ""
	;;
home)
	page index.html "The mill" 'We let the water down. <a href="about.html">About us</a>'
	progress 60
	result "The home page is there." '"The home page links to the about page"'
	;;
about)
	page about.html "About the mill" "A penstock is a gate. It lets the water down to the wheel. We keep it well."
	progress 60
	result "The about page is there." ""
	;;
feed)
	progress 30
	if [ "$attempt" -le 1 ]; then
		say "The network is down; I give up."
		echo "feed: no network" >&2
		exit 1
	fi
	entries=$(ls public/*.html | wc -l | tr -d ' ')
	{
		printf '<feed>\n'
		for file in public/*.html; do printf '  <entry>%s</entry>\n' "${file#public/}"; done
		printf '</feed>\n'
	} >public/feed.xml
	wrote public/feed.xml
	say "$entries entries"
	progress 80
	result "The feed has $entries entries." ""
	;;
proofread)
	for file in public/*.html; do
		say "Reading ${file#public/}"
		progress 40
	done
	printf 'Read: %s\n' public/*.html >public/report.txt
	wrote public/report.txt
	met='"Every page has a title","Every page has one heading","Every page links to the style sheet"'
	met="$met,\"No page needs a script\",\"The pages are spelled well\",\"The feed names every page\",\"A report is written\""
	if [ "$attempt" -gt 1 ]; then # somebody has sent it back: now it was done by people
		met="$met,\"Somebody has read the pages aloud\",\"The colours were looked at on a phone\",\"A second person agrees\""
	fi
	progress 70
	result "Seven of ten are certain; the others need eyes and ears." "$met"
	;;
*)
	say "I do not know the task $task; I leave a note."
	printf 'Somebody should look at %s.\n' "$task" >"public/$task.txt"
	wrote "public/$task.txt"
	result "There is a note." ""
	;;
esac
